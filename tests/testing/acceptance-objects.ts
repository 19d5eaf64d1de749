/** The pods and Services of deploy/windows/acceptance.ps1, made of its templates as PowerShell makes them. */
import { readFileSync } from 'node:fs'

const script = readFileSync(new URL('../../deploy/windows/acceptance.ps1', import.meta.url), 'utf8')

export function acceptanceObjects(): string {
  const pods = [...script.matchAll(/Get-PodYaml '([\w-]+)' '([\w-]+)' \$(\w+)/g)].map(([, Name = '', App = '', node]) =>
    filled('Get-PodYaml', { Name, App, Node: node === 'OtherNode' ? 'linux-1' : 'win-1', Image: 'agnhost' }),
  )
  const services = [...script.matchAll(/Get-ServiceYaml '([\w-]+)' '([\w-]+)' ['"]([^'"]*)['"]/g)].map(
    ([, Name = '', App = '', more = '']) => filled('Get-ServiceYaml', { Name, App, More: more.replaceAll('`n', '\n') }),
  )
  return [...pods, ...services].join('')
}

function filled(name: string, values: Readonly<Record<string, string>>): string {
  const template = new RegExp(`^function ${name} \\{.*?@"\\n(.*?)\\n"@ \\+ "\`n"`, 'ms').exec(script)?.[1]
  if (template === undefined) throw new Error(`there is no template in ${name}`)
  // With the newline that follows the template in the script.
  return `${template.replaceAll(/\$(\w+)/g, (_all, variable: string) => values[variable] ?? `no ${variable}`)}\n`
}

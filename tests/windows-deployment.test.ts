/** What deploy/windows and docs/windows.md run is what Fairlead takes on Windows. */
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { memoryHost } from '../src/cli/host/testing/memory-host.ts'
import { loadConfig } from '../src/cli/daemon/load-config.ts'
import { parseDaemonCommandLine } from '../src/config/daemon/parse-daemon-command-line.ts'
import { TemporaryFolder } from '../src/sources/kube/testing/temporary-folder.ts'
import { refusalOnWindows as refusalOf } from './testing/command-lines.ts'
import { configOf, containersOf, hasKubectl } from './testing/manifests.ts'
import { manifestsOf, variants } from './testing/windows-manifests.ts'
import type { Variant } from './testing/windows-manifests.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const scripts = readdirSync(join(root, 'deploy/windows')).filter((name) => name.endsWith('.ps1'))
const withoutKubectl = hasKubectl ? '' : ' [skipped: there is no kubectl]'

describe.skipIf(!hasKubectl).each(variants)(`manifests of variant %s${withoutKubectl}`, (variant) => {
  const containers = hasKubectl ? containersOf(manifestsOf(variant)) : []

  test('run command lines that Fairlead takes', async () => {
    expect(containers.map(({ name }) => name)).toEqual(namesOf(variant))
    for (const { command, args } of containers) {
      expect(command).toEqual([
        '%CONTAINER_SANDBOX_MOUNT_POINT%\\fairlead\\node.exe',
        '%CONTAINER_SANDBOX_MOUNT_POINT%\\fairlead\\bin\\fairlead.js',
      ])
      const words = args.map((word) => withValues(word, { NODE_IP: '192.0.2.7', NODE_NAME: 'win-1' }))
      expect(await refusalOf(words)).toBeUndefined()
    }
  })

  test('use only variables that they define', () => {
    for (const { args, env = [] } of containers)
      for (const [, name] of args.join(' ').matchAll(/\$\((\w+)\)/g))
        expect(env.map((variable) => variable.name)).toContain(name)
  })

  test('have a configuration that Fairlead takes, with the mode that they run', async () => {
    const host = memoryHost({ platform: 'win32', files: { 'config.yaml': configOf(manifestsOf(variant)) } })
    const parsed = parseDaemonCommandLine(['--config=config.yaml'], 'win32')
    if (parsed.kind !== 'run') throw new Error('refused')
    const { config, warnings } = await loadConfig(parsed.options, host)
    expect(warnings).toEqual([])
    expect(config.mode).toBe(variant === 'userspace' ? 'userspace' : 'kernelspace')
  })
})

test.skipIf(!hasKubectl)(`the kustomization in docs/windows.md changes what it says${withoutKubectl}`, async () => {
  const block = /^ {3}```yaml\n(.*?)^ {3}```/ms.exec(read('docs/windows.md'))?.[1] ?? ''
  await using folder = await TemporaryFolder.make()
  await folder.write('kustomization.yaml', block.replaceAll(/^ {3}/gm, ''))
  cpSync(join(root, 'deploy'), join(folder.path, 'deploy'), { recursive: true })
  const text = execFileSync('kubectl', ['kustomize', folder.path], { encoding: 'utf8' })
  expect(new Set(text.match(/image: .*/g))).toEqual(new Set(['image: registry.example/fairlead-windows:0.1.0']))
  expect(text).toMatch(/^data:\n {2}host: 10\.0\.0\.2\n/m)
})

describe('fairlead.ps1', () => {
  const text = read('deploy/windows/fairlead.ps1')
  const mode = wordsIn(functionIn(text, 'Get-ModeArguments'))
  const service = wordsIn(functionIn(text, 'Get-ServiceArguments'))

  test('runs a daemon that Fairlead takes', async () => {
    const daemon = wordsIn(functionIn(text, 'Get-DaemonArguments'))
    expect(await refusalOf([...mode, ...daemon, ...service])).toBeUndefined()
  })

  test('runs a core that Fairlead takes', async () => {
    const core = wordsIn(functionIn(text, 'Get-CoreArguments'))
    expect(await refusalOf([...core, ...service])).toBeUndefined()
  })

  test.each(['to-winkernel', 'to-winuserspace'])('runs a backend %s that Fairlead takes', async (sink) => {
    const words = wordsIn(functionIn(text, 'Get-BackendArguments'))
    expect(words).toContain(sink)
    const others = words.filter((word) => !word.startsWith('to-'))
    expect(await refusalOf([...others, sink, ...mode, ...service])).toBeUndefined()
  })

  test('cleans up as Fairlead can', async () => {
    expect(await refusalOf(wordsIn(functionIn(text, 'Get-CleanupArguments')))).toBeUndefined()
  })
})

describe('acceptance.ps1', () => {
  const text = read('deploy/windows/acceptance.ps1')

  test('runs command lines that Fairlead takes', async () => {
    const lines = [...text.matchAll(/@\(('(?:--cleanup|api|render)'[^\n]*)\)$/gm)].map(([, line = '']) => wordsIn(line))
    expect(lines.length).toBeGreaterThanOrEqual(3)
    for (const line of lines) expect(await refusalOf(line)).toBeUndefined()
  })

  test('has checks that docs/windows.md lists, and no others', () => {
    const checks = [...text.matchAll(/^ {4}Invoke-Check '([\w-]+)'/gm)].map(([, name]) => name)
    const section = read('docs/windows.md').split('## Acceptance')[1]?.split(/^## /m)[0] ?? ''
    const documented = [...section.matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name)
    expect(documented).toEqual(checks)
  })
})

describe.each(scripts)('%s', (script) => {
  const text = read(`deploy/windows/${script}`)

  test('is plain ASCII: Windows PowerShell takes a file without a mark for the code page of the machine', () => {
    // oxlint-disable-next-line no-control-regex
    expect(text.match(/[^\x00-\x7f]/g)).toBeNull()
  })

  test('has no operator that Windows PowerShell 5.1 does not know', () => {
    const code = withoutComments(text)
    const newer = /\?\?| && | \|\| |\?\.|\) \? |-AsHashtable|-Parallel|-SkipCertificateCheck|AutomaticDelayedStart/g
    expect(code.match(newer)).toBeNull()
  })

  test('changes nothing by the alias sc, which is Set-Content', () => {
    expect(withoutComments(text).match(/(?:^|[\s|&(])sc (?!=)/gm)).toBeNull()
  })
})

test('docs/windows.md shows command lines that Fairlead takes', async () => {
  const blocks = [...read('docs/windows.md').matchAll(/^```(?:powershell|sh)\n(.*?)^```/gms)].map(
    ([, code = '']) => code,
  )
  const lines = blocks
    .join('\n')
    .split('\n')
    .flatMap((line) => /^(?:node(?:\.exe)? \S*fairlead\.js|fairlead) ([^#|>]*)/.exec(line)?.[1] ?? [])
  expect(lines.length).toBeGreaterThan(3)
  for (const line of lines) expect(await refusalOf(line.trim().split(/\s+/))).toBeUndefined()
})

function namesOf(variant: Variant): readonly string[] {
  return variant === 'one-process' ? ['fairlead'] : ['core', 'backend']
}

function withValues(word: string, values: Readonly<Record<string, string>>): string {
  return word.replaceAll(/\$\((\w+)\)/g, (_all, name: string) => values[name] ?? '')
}

function functionIn(text: string, name: string): string {
  const body = new RegExp(`^function ${name} \\{\\n(.*?)^\\}`, 'ms').exec(text)?.[1]
  if (body === undefined) throw new Error(`there is no function ${name}`)
  return body
}

/** The texts of a piece of PowerShell that become words of a command line, with likely values for its variables. */
function wordsIn(code: string): readonly string[] {
  return [...code.matchAll(/'([^']+)'|"([^"]+)"/g)]
    .map(([, plain, expanded]) => plain ?? valuesIn(expanded ?? ''))
    .filter((word) => /^(?:--|kube$|api$|render$|to-)/.test(word))
}

function valuesIn(text: string): string {
  return text
    .replaceAll('$Pipe', 'npipe:////./pipe/ProtectedPrefix/Administrators/fairlead')
    .replaceAll('$pipe', 'npipe:////./pipe/ProtectedPrefix/Administrators/fairlead')
    .replaceAll('$($Settings.Mode)', 'kernelspace')
    .replaceAll(/\$\(\$Settings\.(?:Health|Metrics)Port\)/g, '10256')
    .replaceAll(/\$address|\$\(\$Settings\.SourceVip\)/g, '192.0.2.7')
    .replaceAll(/\$\(\$\w+\.\w+\)|\$\w+/g, 'some')
}

function withoutComments(text: string): string {
  const withoutCSharp = text.replaceAll(/@'\n.*?^'@/gms, "''")
  return withoutCSharp.replaceAll(/<#.*?#>/gs, '').replaceAll(/^\s*#.*$/gm, '')
}

/** What deploy/helm and deploy/manifests say is what Fairlead takes, and nothing in them is out of date. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { TemporaryFolder } from '../src/sources/kube/testing/temporary-folder.ts'
import { chartFiles } from '../tools/deploy/chart-files.ts'
import { chartFolder, manifestsFolder } from '../tools/deploy/places.ts'
import { documentedValues } from '../tools/deploy/values.ts'
import { refusalOf } from './testing/command-lines.ts'
import { configOf, containersOf, hasKubectl, manifestsIn } from './testing/manifests.ts'

const program = new URL('../bin/fairlead.js', import.meta.url).pathname
const read = (file: string) => readFileSync(join(chartFolder, file), 'utf8')
const withoutKubectl = hasKubectl ? '' : ' [skipped: there is no kubectl]'

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: unknown
}

describe('the chart', () => {
  const values = documentedValues(read('values.yaml'))
  const schema = JSON.parse(read('values.schema.json')) as JsonSchema

  test('has a schema and a table that are up to date (else run npm run manifests)', async () => {
    for (const [path, text] of await chartFiles()) expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test.each(values)('says what $path is for, and its schema knows it', ({ path, meaning }) => {
    expect(meaning).toMatch(/^[A-Z].*\.$/)
    const found = path.split('.').reduce<JsonSchema | undefined>((at, name) => at?.properties?.[name], schema)
    expect(found).toBeDefined()
  })

  test('has no value in its schema that values.yaml lacks, apart from what Helm sets', () => {
    const tops = new Set(values.map(({ path }) => path.split('.')[0]))
    expect(Object.keys(schema.properties ?? {}).filter((name) => !tops.has(name))).toEqual(['global'])
  })

  test('refuses what it does not know, also one level down', () => {
    const groups = Object.entries(parse(read('values.yaml')) as Record<string, unknown>).filter(
      ([, value]) => typeof value === 'object' && value !== null && Object.keys(value).length > 0,
    )
    expect(schema.additionalProperties).toBe(false)
    for (const [name] of groups.filter(([, value]) => !Array.isArray(value)))
      expect(schema.properties?.[name]?.additionalProperties).toBe(false)
  })
})

const folders = hasKubectl
  ? readdirSync(manifestsFolder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('/kustomization.yaml'))
      .map((name) => name.replace('/kustomization.yaml', ''))
  : ['']

describe.skipIf(!hasKubectl).each(folders)(`manifests of %s${withoutKubectl}`, (name) => {
  const manifests = hasKubectl ? manifestsIn(join(manifestsFolder, name)) : []
  const containers = containersOf(manifests)

  test('run command lines that Fairlead takes', async () => {
    expect(containers.length).toBeGreaterThanOrEqual(3)
    for (const { args } of containers) expect(await refusalOf(args.map(withValues), 'linux')).toBeUndefined()
  })

  test('use only variables that they define, and the API server only where it is told', () => {
    for (const { args, env = [], ...container } of containers) {
      const names = env.map((variable) => variable.name)
      for (const [, variable] of args.join(' ').matchAll(/\$\((\w+)\)/g)) expect(names).toContain(variable)
      expect(names.includes('KUBERNETES_SERVICE_HOST')).toBe(container.name !== 'backend')
    }
  })
})

// A canary has the same configuration.
const bases = folders.filter((name) => !name.startsWith('canary/'))

test.skipIf(!hasKubectl).each(bases)(
  `the configuration in %s is one that Fairlead takes, in the mode of the folder${withoutKubectl}`,
  async (name) => {
    await using folder = await TemporaryFolder.make()
    const file = await folder.write('config.yaml', configOf(manifestsIn(join(manifestsFolder, name))))
    const written = join(folder.path, 'effective.yaml')
    execFileSync(process.execPath, [program, `--config=${file}`, `--write-config-to=${written}`])
    const effective = parse(readFileSync(written, 'utf8')) as { readonly mode: string }
    expect(effective.mode).toBe(name === 'core-and-backends' ? 'nftables' : name)
  },
)

function withValues(word: string): string {
  const values: Readonly<Record<string, string>> = { NODE_NAME: 'node1', NODE_IPS: '192.0.2.1,2001:db8::1' }
  return word.replaceAll(/\$\((\w+)\)/g, (all, name: string) => values[name] ?? all)
}

/**
 * Prints the software bill of materials as CycloneDX in JSON: Fairlead, and the packages that it needs to run, on any
 * platform; also those whose code is in the web console. The list comes from npm. But --omit=dev of npm also leaves out packages that both Fairlead and its development
 * need, and npm names the root after its folder.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { packagesInConsole } from './bundle-console.ts'

interface Property {
  readonly name: string
  readonly value: string
}

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly properties?: readonly Property[]
}

interface Sbom {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

const root = fileURLToPath(new URL('../', import.meta.url))
const { name } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as { name: string }
const command = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only']
const { stdout } = await promisify(execFile)('npm', command, { cwd: root, maxBuffer: 64 << 20 })
const all = JSON.parse(stdout) as Sbom

const inConsole = new Set(await packagesInConsole())
const components = all.components
  .filter((component) => !isForDevelopment(component) || inConsole.has(component.name))
  .map(({ properties = [], ...component }) => ({ ...component, properties: properties.filter(saysNoDevelopment) }))
const self = all.metadata.component
const kept = new Set([self, ...components].map((component) => component['bom-ref']))
const sbom = {
  ...all,
  metadata: { ...all.metadata, component: { ...self, name } },
  components,
  dependencies: all.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) })),
}
process.stdout.write(`${JSON.stringify(sbom, undefined, 2)}\n`)

function isForDevelopment({ properties = [] }: Component): boolean {
  return !properties.every(saysNoDevelopment)
}

function saysNoDevelopment({ name: property, value }: Property): boolean {
  return property !== 'cdx:npm:package:development' || value !== 'true'
}

/** The SBOM of the executable: Fairlead's, and Node.js. Without the time and the random number that npm puts in. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { nodeVersion } from './pinned-node.ts'
import { root } from './places.ts'

interface Sbom {
  readonly metadata: { readonly component: { readonly 'bom-ref': string }; readonly [name: string]: unknown }
  readonly components: readonly object[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

export async function buildSbom(epoch: number): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], { cwd: root, maxBuffer: 64 << 20 })
  const ofPackages = JSON.parse(stdout) as Sbom
  const { metadata, components, dependencies } = ofPackages
  const node = {
    'bom-ref': `node@${nodeVersion}`,
    type: 'platform',
    name: 'node',
    version: nodeVersion,
    purl: `pkg:generic/node@${nodeVersion}`,
    licenses: [{ license: { id: 'MIT' } }],
  }
  const own = metadata.component['bom-ref']
  const sbom = {
    ...ofPackages,
    serialNumber: undefined,
    metadata: { ...metadata, timestamp: new Date(epoch * 1000).toISOString() },
    components: [...components, node],
    dependencies: [
      ...dependencies.map(({ ref, dependsOn }) => ({
        ref,
        dependsOn: ref === own ? [...dependsOn, node['bom-ref']] : dependsOn,
      })),
      { ref: node['bom-ref'], dependsOn: [] },
    ],
  }
  return `${JSON.stringify({ ...sbom, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(sbom))}` }, undefined, 2)}\n`
}

/** Of the contents: the same list has the same number. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

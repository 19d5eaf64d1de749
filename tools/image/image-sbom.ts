/** The bill of materials of an image, in CycloneDX: its Debian packages, and what is in Fairlead's executable. */
import { createHash } from 'node:crypto'
import type { Product } from './image-config.ts'
import type { PinnedPackage } from './pinned-packages.ts'

interface Component {
  readonly 'bom-ref'?: string
  readonly type: string
  readonly name: string
  readonly version?: string
  readonly [field: string]: unknown
}

/** The part of a CycloneDX document that is read and written here. */
export interface Bom {
  readonly metadata: { readonly component: Component; readonly [field: string]: unknown }
  readonly components: readonly Component[]
  readonly dependencies?: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
}

export function renderImageSbom(product: Product, packages: readonly PinnedPackage[], fairlead: Bom): string {
  const { name, version } = product
  const arch = packages[0]?.arch ?? 'amd64'
  const executable = fairlead.metadata.component
  const debian = packages.map(debianComponent)
  const ref = `${name}-image@${version}-${arch}`
  const body = {
    metadata: {
      component: { 'bom-ref': ref, type: 'container', name, version, description: `${name} for linux/${arch}` },
    },
    components: [...debian, executable, ...fairlead.components],
    dependencies: [
      { ref, dependsOn: [...debian.map((one) => one['bom-ref']), executable['bom-ref'] ?? executable.name] },
      ...(fairlead.dependencies ?? []),
    ],
  }
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidFrom(JSON.stringify(body))}`,
    version: 1,
    ...body,
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

function debianComponent({ name, version, arch, sha256 }: PinnedPackage) {
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${arch}&distro=debian-12`
  return {
    'bom-ref': `debian/${name}@${version}`,
    type: 'library',
    name,
    version,
    purl,
    hashes: [{ alg: 'SHA-256', content: sha256 }],
  }
}

/** The same list gets the same number, so that the image can be made again to the byte. */
function uuidFrom(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  // Version 8: made in a way of one's own.
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

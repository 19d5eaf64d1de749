/** What the image says about itself. The Dockerfile says the same: a test compares them. */

export interface Product {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly source: string
  /** The commit, if it is known. */
  readonly revision?: string
}

export interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly WorkingDir: string
  readonly Labels: Readonly<Record<string, string>>
}

export function imageConfig({ name, version, description, license, source, revision }: Product): ImageConfig {
  return {
    // Most modes need root's files, as docs/security.md tells. The others run as any user: "nonroot" (65532) has a name.
    User: '0:0',
    Env: ['PATH=/usr/sbin:/usr/bin'],
    Entrypoint: ['/usr/bin/fairlead'],
    WorkingDir: '/',
    Labels: {
      'org.opencontainers.image.title': name,
      'org.opencontainers.image.description': description,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': license,
      'org.opencontainers.image.source': source,
      ...(revision === undefined ? {} : { 'org.opencontainers.image.revision': revision }),
    },
  }
}

/** What is packed: its name and version from package.json, and its commit from Git. */
import { readFile } from 'node:fs/promises'
import type { Product } from './image-config.ts'
import { packageFacts } from '../package/package-facts.ts'
import { root } from '../package/places.ts'
import { runProgram } from './run-program.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
}

export async function readProduct(): Promise<Product> {
  const { name, version, description, license } = await readManifest()
  const revision = await git(['rev-parse', 'HEAD'])
  return {
    name,
    version,
    description,
    license,
    source: packageFacts.homepage,
    ...(revision === undefined ? {} : { revision }),
  }
}

/** When the source was written, in seconds; not when the image was made, or each would be different. */
export async function sourceDate(otherwise: number): Promise<number> {
  const given = process.env['SOURCE_DATE_EPOCH'] ?? (await git(['log', '-1', '--format=%ct']))
  return given === undefined ? otherwise : Number(given)
}

async function readManifest(): Promise<Manifest> {
  return JSON.parse(await readFile(`${root}package.json`, 'utf8')) as Manifest
}

/** Nothing where there is no repository: in a build container, or in a published package. */
async function git(args: readonly string[]): Promise<string | undefined> {
  return await runProgram('git', args, root).then(
    (text) => text.trim(),
    () => undefined,
  )
}

/** A folder as a layer: the same files give the same bytes, whoever packs them, when and where. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { packFolder } from './pack-folder.ts'
import { runInto, runProgram } from './run-program.ts'

export interface Layer {
  /** Compressed. */
  readonly file: string
  readonly digest: string
  readonly size: number
  /** Of the archive before it was compressed. */
  readonly diffId: string
  /** What it is, for people who look at the history of the image. */
  readonly comment: string
}

/** Layers are kept in the cache by what they hold, since compressing one takes seconds. */
export async function packLayer(
  root: string,
  {
    comment,
    secondsOfFiles,
    cache,
  }: { readonly comment: string; readonly secondsOfFiles: number; readonly cache: string },
): Promise<Layer> {
  await mkdir(cache, { recursive: true })
  const tar = join(cache, `${process.pid}-${performance.now()}.tar`)
  try {
    await packFolder(root, secondsOfFiles, tar)
    const diffId = await sha256Of(tar)
    const file = join(cache, `${diffId}.tar.gz`)
    if (!(await exists(file))) await compress(tar, file)
    const digest = `sha256:${await sha256Of(file)}`
    return { file, digest, size: (await stat(file)).size, diffId: `sha256:${diffId}`, comment }
  } finally {
    await rm(tar, { force: true })
  }
}

/** Everybody may read, only root may write; the mode bits of the machine that builds do not count. */
export async function normaliseModes(root: string): Promise<void> {
  await runProgram('chmod', ['-R', 'u=rwX,go=rX', root])
}

/** GNU gzip, not Node's zlib: what that one makes of the same bytes depends on its version and on the processor. */
async function compress(from: string, to: string): Promise<void> {
  const aside = `${to}.${process.pid}`
  await runInto(aside, 'gzip', ['-n', '-6', '-c', from])
  await rename(aside, to)
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(piece as Buffer)
  return hash.digest('hex')
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  )
}

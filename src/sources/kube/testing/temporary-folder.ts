import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export class TemporaryFolder implements AsyncDisposable {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static async make(): Promise<TemporaryFolder> {
    return new TemporaryFolder(await mkdtemp(join(tmpdir(), 'fairlead-kube-')))
  }

  /** Writes a file and returns its path. */
  async write(name: string, text: string, mode = 0o600): Promise<string> {
    const file = join(this.path, name)
    await writeFile(file, text, { mode })
    return file
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true })
  }
}

/** Fills a folder with what a container needs as its root: programs of this machine, with the libraries they load. */
import { copyFile, lstat, mkdir, readlink, realpath, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { run } from '../run.ts'

export class RootFolder {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  /** Makes the folders that every container expects, and the users that tests name. */
  async addBasics(): Promise<void> {
    for (const folder of ['bin', 'etc', 'proc', 'sys', 'dev', 'tmp', 'run', 'root', 'usr/bin', 'uploads'])
      await mkdir(join(this.#root, folder), { recursive: true })
    await writeFile(
      join(this.#root, 'etc/passwd'),
      'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/false\n',
    )
    await writeFile(join(this.#root, 'etc/group'), 'root:x:0:\nnogroup:x:65534:\n')
    await writeFile(join(this.#root, 'etc/nsswitch.conf'), 'hosts: files dns\n')
  }

  /** Copies a file, and where the way to it has symbolic links, the file they lead to. */
  async addFile(from: string, to = from): Promise<void> {
    const target = join(this.#root, to)
    await mkdir(dirname(target), { recursive: true })
    await copyFile(await realpath(from), target)
  }

  async addLink(path: string, target: string): Promise<void> {
    const link = join(this.#root, path)
    await mkdir(dirname(link), { recursive: true })
    const isThere = await lstat(link).then(
      () => true,
      () => false,
    )
    if (!isThere) await symlink(target, link)
  }

  /** A program and what the dynamic linker would load for it. */
  async addProgram(executable: string, to = `/bin/${basename(executable)}`): Promise<void> {
    await this.addFile(executable, to)
    for (const library of await librariesOf(executable)) await this.addFile(library)
  }

  /** One program under all the names of its applets, but never instead of a program that is there. */
  async addBusybox(executable: string): Promise<void> {
    await this.addProgram(executable, '/bin/busybox')
    const applets = (await run(executable, ['--list'])).trim().split('\n')
    for (const applet of applets) await this.addLink(`/bin/${applet}`, '/bin/busybox')
  }

  /** As a tar file that is the same whenever its content is. */
  async pack(file: string): Promise<void> {
    const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner']
    await run('tar', ['--create', `--file=${file}`, ...same, '-C', this.#root, '.'])
  }
}

async function librariesOf(executable: string): Promise<readonly string[]> {
  const listed = await run('ldd', [executable]).catch((error: unknown) => {
    if (error instanceof Error && error.message.includes('not a dynamic executable')) return ''
    throw error
  })
  return [...listed.matchAll(/(\/\S+) \(0x[0-9a-f]+\)/g)].map(([, path]) => path ?? '')
}

/** The place of a program in PATH; the name a package has it under may lead on through Debian's alternatives. */
export async function findProgram(name: string): Promise<string> {
  for (const folder of `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`.split(':')) {
    const path = join(folder, name)
    const isThere = await readlink(path).then(
      () => true,
      async () => (await lstat(path).catch(() => undefined))?.isFile() === true,
    )
    if (isThere) return path
  }
  throw new Error(`${name} is not installed, and the images of the cluster need it`)
}

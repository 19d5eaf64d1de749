/** Archives whose bytes depend on the files and the given time alone. */
import { execFile } from 'node:child_process'
import { basename, dirname } from 'node:path'
import { promisify } from 'node:util'

export async function writeTarball(path: string, tree: string, epoch: number): Promise<void> {
  const order = ['--sort=name', '--format=gnu', `--mtime=@${epoch}`, '--owner=0', '--group=0', '--numeric-owner']
  await promisify(execFile)('tar', [...order, '-C', dirname(tree), '-I', 'gzip -n', '-cf', path, basename(tree)])
}

/** Archives that are the same to the byte for the same files, whoever packs them, when and where. */
import { readdir } from 'node:fs/promises'
import { runProgram } from './run-program.ts'

export async function packFolder(root: string, secondsOfFiles: number, file: string): Promise<void> {
  const names = (await readdir(root)).toSorted()
  const same = ['--sort=name', '--format=ustar', '--owner=0', '--group=0', '--numeric-owner', '--hard-dereference']
  await runProgram('tar', [...same, `--mtime=@${secondsOfFiles}`, '-C', root, '-cf', file, '--', ...names])
}

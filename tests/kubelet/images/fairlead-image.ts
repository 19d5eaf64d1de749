import { readFile } from 'node:fs/promises'
import { arch } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../run.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The path of the archive that `npm run image` writes, from the sources as they are now. */
export async function buildFairleadImage(): Promise<string> {
  const debianArch = arch() === 'x64' ? 'amd64' : arch()
  await run('npm', ['run', '--silent', 'image', '--', `--arch=${debianArch}`], { cwd: root })
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly version: string }
  return join(root, `.cache/image/fairlead-${version}-linux-${debianArch}.tar`)
}

/** Fairlead as `npm install` puts it on a Windows node: what the package ships, and the packages that it needs there. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cache, hash, madeOnce, root } from './set-up.ts'

const run = promisify(execFile)

/** A folder of this checkout, made anew before the tests begin. */
const installed = join(cache, `installed-${hash(root)}`)

/** The script that users run. */
export const fairleadOnWindows: string = join(installed, 'package/bin/fairlead.js')

export async function installPackage(): Promise<void> {
  const dependencies = await installDependencies()
  await rm(installed, { recursive: true, force: true })
  await mkdir(installed, { recursive: true })
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-pack-'))
  try {
    const { stdout } = await run('npm', ['pack', '--silent', `--pack-destination=${folder}`], { cwd: root })
    await run('tar', ['-xzf', join(folder, stdout.trim()), '-C', installed])
  } finally {
    await rm(folder, { recursive: true })
  }
  await symlink(join(dependencies, 'node_modules'), join(installed, 'package/node_modules'))
}

async function installDependencies(): Promise<string> {
  const files = ['package.json', 'package-lock.json', '.npmrc']
  const contents = await Promise.all(files.map((name) => readFile(join(root, name), 'utf8')))
  return madeOnce(`dependencies-${hash(...contents)}`, async (folder) => {
    await Promise.all(files.map((name) => cp(join(root, name), join(folder, name))))
    await run('npm', ['ci', '--omit=dev', '--os=win32', '--cpu=x64'], { cwd: folder })
  })
}

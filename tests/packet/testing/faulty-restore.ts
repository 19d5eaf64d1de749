/** iptables-restore with faults that a test turns on. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { families } from './iptables-variant.ts'
import type { IptablesVariant } from './iptables-variant.ts'

export class FaultyRestore {
  /** For the environment of a proxy. */
  readonly env: Readonly<Record<string, string>>
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
    this.env = { PATH: `${folder}:${process.env['PATH']}` }
  }

  static async install(parent: string, variant: IptablesVariant): Promise<FaultyRestore> {
    const folder = join(parent, 'faulty')
    await mkdir(folder)
    for (const family of families) {
      const name = `${family}-${variant}-restore`
      const real = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()
      await writeFile(join(folder, name), script(folder, family, real))
      await chmod(join(folder, name), 0o755)
    }
    return new FaultyRestore(folder)
  }

  /** The next restore of each family does nothing and ends with this code. */
  failOnce(exitCode: number): void {
    for (const family of families) writeFileSync(this.#file(`fail-${family}`), String(exitCode))
  }

  /** The faults that were asked for have all happened. */
  get hasFailed(): boolean {
    return families.every((family) => !existsSync(this.#file(`fail-${family}`)))
  }

  /** From now on, a restore that starts waits before it reads anything, until `release`. */
  hold(): void {
    writeFileSync(this.#file('gate'), '')
    writeFileSync(this.#file('hold'), '')
  }

  /** Restores that start from now on do not wait; those that do go on waiting. */
  holdNoMore(): void {
    rmSync(this.#file('hold'))
  }

  release(): void {
    rmSync(this.#file('gate'))
  }

  /** How many restores wait, or have waited and are not done yet. */
  get held(): number {
    return readdirSync(this.#folder).filter((name) => name.startsWith('held-')).length
  }

  #file(name: string): string {
    return join(this.#folder, name)
  }
}

/** A gate that is gone with its folder lets everybody pass, so nothing waits after the test. */
function script(folder: string, family: string, real: string): string {
  return `#!/bin/sh
case "$*" in *--version*) exec ${real} "$@" ;; esac
if [ -e ${folder}/fail-${family} ]; then
  code=$(cat ${folder}/fail-${family})
  rm ${folder}/fail-${family}
  echo "this restore fails because the test says so" >&2
  exit "$code"
fi
[ -e ${folder}/hold ] || exec ${real} "$@"
touch ${folder}/held-$$
while [ -e ${folder}/gate ]; do sleep 0.05; done
${real} "$@"
code=$?
rm -f ${folder}/held-$$
exit "$code"
`
}

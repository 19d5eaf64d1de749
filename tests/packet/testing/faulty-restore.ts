/** iptables-restore with faults that a test turns on. */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
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
    for (const family of families) writeFileSync(join(this.#folder, `fail-${family}`), String(exitCode))
  }

  /** The faults that were asked for have all happened. */
  get hasFailed(): boolean {
    return families.every((family) => !existsSync(join(this.#folder, `fail-${family}`)))
  }

  /** Every restore takes a second longer, until told otherwise. */
  beSlow(isSlow: boolean): void {
    rmSync(join(this.#folder, 'restoring'), { force: true })
    if (isSlow) writeFileSync(join(this.#folder, 'slow'), '')
    else rmSync(join(this.#folder, 'slow'), { force: true })
  }

  /** A slow restore has begun. */
  get isRestoring(): boolean {
    return existsSync(join(this.#folder, 'restoring'))
  }
}

function script(folder: string, family: string, real: string): string {
  return `#!/bin/sh
case "$*" in *--version*) exec ${real} "$@" ;; esac
if [ -e ${folder}/fail-${family} ]; then
  code=$(cat ${folder}/fail-${family})
  rm ${folder}/fail-${family}
  echo "this restore fails because the test says so" >&2
  exit "$code"
fi
if [ -e ${folder}/slow ]; then
  touch ${folder}/restoring
  sleep 1
fi
exec ${real} "$@"
`
}

/** The two iptables of a host, as far as the tests must know them. */
import { spawnSync } from 'node:child_process'
import { mkdir, realpath, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Namespace } from './namespace.ts'

export type IptablesVariant = 'nft' | 'legacy'

export const families = ['iptables', 'ip6tables'] as const

/** Programs that are not installed, or undefined when all are there. */
export function missingPrograms(...programs: readonly string[]): string | undefined {
  const missing = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`
}

/** As kubelet does at its start: by this chain proxies know which of the two a node uses. */
export function chooseVariant(node: Namespace, variant: IptablesVariant): void {
  const input = '*mangle\n:KUBE-IPTABLES-HINT - [0:0]\nCOMMIT\n'
  for (const name of families) node.run(`${name}-${variant}-restore`, ['--noflush'], { input })
}

/** A folder for PATH in which the plain names mean this variant: kube-proxy itself does not choose. */
export async function plainNamesFolder(parent: string, variant: IptablesVariant): Promise<string> {
  const folder = join(parent, 'plain-names')
  await mkdir(folder)
  for (const name of families)
    for (const tool of ['', '-save', '-restore']) {
      const found = spawnSync('sh', ['-c', `command -v ${name}-${variant}${tool}`], { encoding: 'utf8' }).stdout.trim()
      // The program looks at the name it was called by.
      await symlink(await realpath(found), join(folder, `${name}${tool}`))
    }
  return folder
}

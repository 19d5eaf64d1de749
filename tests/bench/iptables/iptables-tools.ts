/** Which iptables a measured proxy finds: one of the two real ones, or one that only counts what it is sent. */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Namespace } from '../../packet/testing/namespace.ts'

export type ToolKind = 'legacy' | 'nft' | 'counting'

export class IptablesTools implements AsyncDisposable {
  readonly kind: ToolKind
  readonly #folder: string

  static async make(kind: ToolKind): Promise<IptablesTools> {
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-bench-'))
    await mkdir(join(folder, 'bin'))
    for (const family of ['iptables', 'ip6tables'])
      for (const job of ['', '-save', '-restore'])
        if (kind === 'counting') await linkCounting(folder, family, job)
        else await symlink(`/usr/sbin/${family}-${kind}${job}`, join(folder, 'bin', family + job))
    return new IptablesTools(kind, folder)
  }

  private constructor(kind: ToolKind, folder: string) {
    this.kind = kind
    this.#folder = folder
  }

  get path(): string {
    return `${join(this.#folder, 'bin')}:${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`
  }

  /** Leaves the mark of a kubelet that has chosen a variant: Fairlead chooses as the kubelet did. */
  markVariant(namespace: Namespace): void {
    if (this.kind === 'counting') return
    namespace.run(`/usr/sbin/iptables-${this.kind}`, ['-t', 'mangle', '-N', 'KUBE-KUBELET-CANARY'])
  }

  /** How many bytes each IPv4 restore was sent. */
  async restoredBytes(): Promise<readonly number[]> {
    const text = await readFile(join(this.#folder, 'bytes'), 'utf8')
    return text.trim().split('\n').map(Number)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true })
  }
}

/** Under all names that a proxy may look for. Every rule that is looked for is said to be there. */
async function linkCounting(folder: string, family: string, job: string): Promise<void> {
  const script = join(folder, 'counting')
  const lines = [
    '#!/bin/sh',
    'case "${0##*/}" in',
    `iptables*-restore) wc -c >> ${join(folder, 'bytes')} ;;`,
    'ip6tables*-restore) cat > /dev/null ;;',
    '*-save) ;;',
    '*) [ "$1" != --version ] || echo "iptables v1.8.9 (nf_tables)" ;;',
    'esac',
    '',
  ]
  await writeFile(script, lines.join('\n'), { mode: 0o755 })
  for (const variant of ['', '-nft', '-legacy']) await symlink(script, join(folder, 'bin', family + variant + job))
}

/** What this machine has of nftables, found out by trying. Nothing here changes a table. */
import { release } from 'node:os'
import type { Family } from '../../../net/ip.ts'
import type { Exec, ExecResult } from '../../exec/exec.ts'
import { CommandNftTable } from './command-nft.ts'
import { NftError } from '../nft.ts'
import type { NftTransaction } from '../nft.ts'
import { startError, toolError } from './tool-error.ts'

export interface FindNftOptions {
  readonly family: Family
  readonly exec: Exec
  /** That of this process, unless a test says otherwise. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** `6.1.0-18-amd64`; that of this machine, unless a test says otherwise. */
  readonly kernelRelease?: string
}

export interface NftFeatures {
  /** `1.0.6` */
  readonly version: string
  /** Whether tables, chains and sets can have comments. */
  readonly hasObjectComments: boolean
}

const oldestNft = '1.0.1'
/** Not for a feature of its own: hosts with an older kernel tend to have an nft that cannot read our rules. */
const oldestKernel = '5.13'
const skipKernelCheck = 'KUBE_PROXY_NFTABLES_SKIP_KERNEL_VERSION_CHECK'

/** Rejects with an NftError that says why the nftables mode cannot work here. */
export async function findNft(options: FindNftOptions, signal: AbortSignal): Promise<NftFeatures> {
  const { exec, family } = options
  const version = await nftVersion(exec, signal)
  const hasObjectComments = await hasComments(family, exec, signal)
  assertKernel(options.kernelRelease ?? release(), options.env ?? process.env)
  return { version, hasObjectComments }
}

/** Whether the kernel can translate addresses of this family. Rejects as `findNft` does. */
export async function supportsNft(options: FindNftOptions, signal: AbortSignal): Promise<boolean> {
  const { hasObjectComments } = await findNft(options, signal)
  const table = new CommandNftTable({ ...options, hasObjectComments })
  try {
    await table.check(natChain, signal)
    return true
  } catch (error) {
    // The chain type is not there, in the words of different kernels.
    if (error instanceof NftError && (error.reason === 'missing' || error.reason === 'refused')) return false
    throw error
  }
}

const natChain: NftTransaction = [
  { do: 'add table', comment: '' },
  {
    do: 'add chain',
    chain: { name: 'support-probe', hook: { type: 'nat', hook: 'output', priority: -100 }, comment: '' },
  },
]

async function nftVersion(exec: Exec, signal: AbortSignal): Promise<string> {
  const doing = 'ask nft for its version'
  let result: ExecResult
  try {
    result = await exec('nft', ['--version'], { signal })
  } catch (error) {
    throw startError(doing, error)
  }
  if (result.exitCode !== 0) throw toolError(doing, result)
  const version = /^nftables v(\d+(?:\.\d+)*)/.exec(result.stdout)?.[1]
  if (version === undefined)
    throw new NftError('no-tool', `"nft --version" printed "${result.stdout.trim()}": is it really nft?`)
  if (isOlder(version, oldestNft))
    throw new NftError(
      'no-tool',
      `nft is version ${version}, and the nftables mode needs ${oldestNft}: install a newer one`,
    )
  return version
}

/** nft before 0.9.7 and kernels before 5.10 have none. */
async function hasComments(family: Family, exec: Exec, signal: AbortSignal): Promise<boolean> {
  const tryIt = (hasObjectComments: boolean) =>
    new CommandNftTable({ family, exec, hasObjectComments }).check([{ do: 'add table', comment: 'test' }], signal)
  try {
    await tryIt(true)
    return true
  } catch (error) {
    if (!(error instanceof NftError)) throw error
    await tryIt(false)
    return false
  }
}

function assertKernel(kernelRelease: string, env: Readonly<Record<string, string | undefined>>): void {
  if ((env[skipKernelCheck] ?? '') !== '') return
  const version = /^\d+(?:\.\d+)*/.exec(kernelRelease)?.[0]
  if (version === undefined || isOlder(version, oldestKernel))
    throw new NftError(
      'no-kernel-support',
      `the kernel is ${kernelRelease}, and the nftables mode needs ${oldestKernel}: ` +
        `upgrade it, use another mode, or set ${skipKernelCheck}=1 if the nft on the host is ${oldestNft} or newer`,
    )
}

function isOlder(version: string, than: string): boolean {
  const left = version.split('.').map(Number)
  for (const [index, wanted] of than.split('.').map(Number).entries()) {
    const difference = (left[index] ?? 0) - wanted
    if (difference !== 0) return difference < 0
  }
  return false
}

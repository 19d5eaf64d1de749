/** Whether SELinux confines this process, and what of the node this process may not use. */
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { Host } from '../../host/host.ts'
import { usesIptables } from '../setup.ts'
import type { Setup } from '../setup.ts'

export interface ConfinementFacts {
  /** `system_u:system_r:container_t:s0:c1,c2`; undefined: there is no SELinux. */
  readonly seLinuxContext: string | undefined
  /** Permission was denied, by whomever. */
  readonly denied: readonly Denied[]
}

interface Denied {
  readonly path: string
  readonly problem: string
}

/** Programs that write iptables rules take turns by it. */
const xtablesLock = '/run/xtables.lock'

export async function readConfinement(
  host: Pick<Host, 'readTextFile'>,
  setup: Pick<Setup, 'config' | 'isRoot' | 'stateDir'>,
  open: typeof access = access,
): Promise<ConfinementFacts> {
  const { stateDir } = setup
  const denied = await Promise.all([
    ...(usesIptables(setup) ? [tryOut(open, xtablesLock, constants.R_OK)] : []),
    ...(stateDir === '' ? [] : [tryOut(open, stateDir, constants.R_OK | constants.W_OK)]),
  ])
  return { seLinuxContext: await readContext(host), denied: denied.filter((one) => one !== undefined) }
}

/** AppArmor has the same file, and other words in it: `cri-containerd.apparmor.d (enforce)`. */
async function readContext({ readTextFile }: Pick<Host, 'readTextFile'>): Promise<string | undefined> {
  const text = await readTextFile('/proc/self/attr/current').catch(() => '')
  return /^[\w.-]+:[\w.-]+:[\w.-]+(?::[\w.,:-]+)?(?=[\0\s]*$)/.exec(text)?.[0]
}

async function tryOut(open: typeof access, path: string, mode: number): Promise<Denied | undefined> {
  try {
    await open(path, mode)
    return undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'EACCES' ? { path, problem: message } : undefined
  }
}

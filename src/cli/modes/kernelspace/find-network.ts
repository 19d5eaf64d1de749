/** The HNS network of the cluster. The CNI may make it long after this process has started, so it is waited for. */
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import type { Hcn, HcnNetwork } from '../../../dataplane/hcn/hcn.ts'
import { cannotRun, refusalOf } from './check-hns.ts'

const pauseMs = 1_000
/** Remote subnets and the management address of an overlay network may land after the network itself. */
const settleMs = 10_000

export function networkNameOf(configured: string, env: NodeJS.ProcessEnv): string {
  const name = configured || (env['KUBE_NETWORK'] ?? '')
  if (name !== '') return name
  throw cannotRun(
    'Environment variable KUBE_NETWORK and network-flag not initialized: give the name of the HNS network of the cluster ' +
      'with --network-name (winkernel.networkName); Get-HnsNetwork lists them',
  )
}

export interface NetworkSearch {
  readonly hcn: Hcn
  readonly name: string
  readonly clock: Clock
  readonly log: Logger
}

export async function findNetwork(search: NetworkSearch, signal: AbortSignal): Promise<HcnNetwork> {
  const { hcn, name, clock } = search
  const found = await untilThere(search, signal)
  if (!isOverlayType(found.type)) return found
  await clock.sleep(settleMs, signal)
  const settled = await hcn.networkNamed(name, signal).catch((error: unknown) => {
    signal.throwIfAborted()
    throw refusalOf(error)
  })
  if (settled !== undefined) return settled
  throw cannotRun(`could not find HNS network ${name}: it went away again, see Get-HnsNetwork; restart once it stays`)
}

export function isOverlayType(type: string): boolean {
  return type.toLowerCase() === 'overlay'
}

async function untilThere({ hcn, name, clock, log }: NetworkSearch, signal: AbortSignal): Promise<HcnNetwork> {
  for (let isFirst = true; ; isFirst = false) {
    const network = await hcn.networkNamed(name, signal).catch((error: unknown) => {
      signal.throwIfAborted()
      log.debug(2, 'cannot look for the HNS network', { network: name, error })
      return undefined
    })
    if (network !== undefined) return network
    if (isFirst)
      log.info('waiting for the HNS network, which the network plugin makes', {
        network: name,
        see: 'Get-HnsNetwork',
      })
    await clock.sleep(pauseMs, signal)
  }
}

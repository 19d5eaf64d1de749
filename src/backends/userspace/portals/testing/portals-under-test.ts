/** A portal backend with a relay on loopback and a kernel in memory, which tell what was done in which order. */
import { systemClock } from '../../../../core/clock.ts'
import type { Clock } from '../../../../core/clock.ts'
import { silentLogger } from '../../../../core/logger.ts'
import type { Route, RouteKey } from '../../../../core/route.ts'
import { FakeClock } from '../../../../core/testing/fake-clock.ts'
import { testView } from '../../../../core/testing/routes.ts'
import { savedRulesHash } from '../../../../dataplane/iptables/change-detector.ts'
import { IptablesError } from '../../../../dataplane/iptables/iptables.ts'
import { MemoryIptables } from '../../../../dataplane/iptables/memory-iptables.ts'
import type { MarkedDelivery } from '../../../../dataplane/marked-delivery/marked-delivery.ts'
import { MemoryMarkedDelivery } from '../../../../dataplane/marked-delivery/memory-marked-delivery.ts'
import { NodeRelay } from '../../../../dataplane/relay/node/node-relay.ts'
import type { ListenerSpec } from '../../../../dataplane/relay/relay.ts'
import { use } from '../../../../dataplane/relay/testing/relay-under-test.ts'
import { DriftWatch } from '../../../../dataplane/iptables/language/drift-watch.ts'
import { FreePorts } from '../../free-ports.ts'
import { findPortalDrift } from '../find-drift.ts'
import { answerDelivery } from '../answer-rules.ts'
import { PortalBackend } from '../portal-backend.ts'
import type { PortalBackendOptions } from '../portal-backend.ts'
import type { PortalSettings } from '../settings.ts'
import { Transparency } from '../transparency.ts'

const never = new AbortController().signal

/** Tests have no address but loopback, so the ports are there. */
export const onLoopback: PortalSettings = {
  family: 'ipv4',
  localTraffic: { kind: 'none' },
  masqueradeAll: false,
  keepsClients: true,
  listenIp: '127.0.0.1',
  hostIp: '127.0.0.1',
  nodePortIps: ['127.0.0.1'],
}

class RecordingIptables extends MemoryIptables {
  readonly events: string[]
  failures = 0
  lastInput = ''

  constructor(events: string[], missingMatches: ReadonlySet<string>) {
    super({ family: 'ipv4', missingMatches })
    this.events = events
  }

  override async restore(input: string, signal: AbortSignal): Promise<void> {
    this.events.push('restore')
    this.lastInput = input
    if (this.failures-- > 0) throw new IptablesError('locked', 'somebody holds the xtables lock')
    this.failures = 0
    await super.restore(input, signal)
  }
}

class RecordingRelay extends NodeRelay {
  readonly events: string[]
  readonly #ids = new Set<string>()

  constructor(events: string[]) {
    super({ log: silentLogger, clock: systemClock })
    this.events = events
  }

  override set(listener: ListenerSpec) {
    if (!this.#ids.has(listener.id)) this.#note('listen', listener.id)
    this.#ids.add(listener.id)
    return super.set(listener)
  }

  override remove(id: string) {
    this.#note('close', id)
    this.#ids.delete(id)
    return super.remove(id)
  }

  #note(what: string, id: string): void {
    if (id.includes(' proxy-port ')) this.events.push(`${what} ${id.split(' ')[1]}`)
  }
}

export function portalsUnderTest({
  missingMatches = new Set<string>(),
  settings = () => onLoopback,
  freePorts = new FreePorts(),
}: {
  readonly missingMatches?: ReadonlySet<string>
  readonly settings?: () => PortalSettings
  readonly freePorts?: FreePorts
} = {}) {
  const events: string[] = []
  const clock = new FakeClock()
  const kernel = new RecordingIptables(events, missingMatches)
  const relay = use(new RecordingRelay(events))
  const delivery = new MemoryMarkedDelivery(answerDelivery)
  const backend = portalBackendOn({ relay, iptables: kernel, kernel, delivery, freePorts, settings, clock })
  return {
    events,
    clock,
    kernel,
    backend,
    /** A full sync, unless the changed keys are given. */
    sync: (routes: readonly Route[], keys?: readonly RouteKey[]) => {
      const change = { full: keys === undefined, keys: keys ?? routes.map(({ key }) => key), causes: [] }
      return backend.sync(testView(...routes), change, never)
    },
    /** Where the rules of a route lead. */
    ports: async ({ namespace, name }: Route) => {
      const lines = (await kernel.save('nat', never))
        .split('\n')
        .filter((line) => line.includes(`"${namespace}/${name}"`))
      return lines.map((line) => Number(/:(\d+)$/.exec(line)?.[1]))
    },
  }
}

export async function savedRules(kernel: MemoryIptables): Promise<string> {
  return (await kernel.save('filter', never)) + (await kernel.save('nat', never))
}

interface PortalSite extends Pick<PortalBackendOptions, 'relay' | 'iptables' | 'freePorts' | 'settings'> {
  /** For those who only look, or work beside the syncs. */
  readonly kernel: MemoryIptables
  readonly delivery?: MarkedDelivery
  readonly clock: Clock
}

/** A backend on doors in memory. */
export function portalBackendOn({ kernel, delivery, clock, ...given }: PortalSite): PortalBackend {
  return new PortalBackend({
    ...given,
    transparency: new Transparency({
      relay: given.relay,
      iptables: kernel,
      delivery: delivery ?? new MemoryMarkedDelivery(answerDelivery),
      log: silentLogger,
    }),
    drift: new DriftWatch({
      iptables: kernel,
      findDrift: findPortalDrift,
      openDetector: () => Promise.resolve(savedRulesHash(kernel, ['filter', 'nat'])),
      clock,
      log: silentLogger,
    }),
    metrics: { restoreFailed() {} },
    log: silentLogger,
  })
}

/** What the demo adds to the console: its page's topic, its buttons, and clients whose traffic moves in the picture. */
import type { Clock } from '../../core/clock.ts'
import type { ApiServer } from '../../embedded/api-server.ts'
import { hostPort } from '../../net/ip.ts'
import type { LiveTopic } from '../../observe/console/live-topic.ts'
import type { KubeClient } from '../../sources/kube/kube-client.ts'
import type { Runnable } from '../run-all.ts'
import type { Served } from './announcing-backend.ts'
import { quoted } from './demo-screen.ts'
import { DemoTopic } from './demo-topic.ts'
import type { ReplicaServers } from './replica-servers.ts'
import { namespace, sampleServices } from './sample-application.ts'
import { DemoRefusal } from './stage/demo-refusal.ts'
import { DemoStage } from './stage/demo-stage.ts'
import { parseDemoAction } from './stage/parse-demo-action.ts'
import type { Question } from './traffic/ask.ts'
import { clientAddresses } from './traffic/client-addresses.ts'
import { DemoTraffic } from './traffic/demo-traffic.ts'

export interface DemoConsoleOptions {
  readonly client: KubeClient
  readonly apiServer: Pick<ApiServer, 'outage'>
  readonly servers: ReplicaServers
  readonly kubeconfig: string
  readonly clock: Clock
}

export interface DemoConsole extends Runnable {
  readonly topics: readonly LiveTopic[]
  /** Returns what is wrong with it, as a sentence. */
  act(action: unknown): Promise<string | undefined>
  /** Where clients find the Services. */
  noteServed(served: readonly Served[]): void
}

export async function openDemoConsole(options: DemoConsoleOptions): Promise<DemoConsole> {
  const { clock, kubeconfig } = options
  const addressByService = new Map<string, Question['to']>()
  const stage = new DemoStage({ ...options, onChange: () => topic.changed() })
  const traffic = new DemoTraffic({
    services: sampleServices.map(({ name }) => `${namespace}/${name}`),
    clientAddresses: await clientAddresses(),
    addressOf: (service) => addressByService.get(service),
    clock,
    random: Math.random,
    onAnswer: () => topic.changed(),
  })
  const topic = new DemoTopic({
    state: () => {
      const { services, ...others } = stage.state
      const shown = services.map((service) => {
        const address = addressByService.get(service.key)
        return {
          ...service,
          ...(address && { address: hostPort(address.ip, address.port) }),
          clients: traffic.clientsOf(service.key),
        }
      })
      return { ...others, kubeconfig: quoted(kubeconfig), services: shown }
    },
    traffic,
    clock,
  })
  const ending = new AbortController()
  return {
    topics: [topic],
    async act(action) {
      try {
        await stage.act(parseDemoAction(action), ending.signal)
        return undefined
      } catch (error) {
        if (error instanceof DemoRefusal) return error.message
        return `that did not work: ${error instanceof Error ? error.message : String(error)}`
      }
    },
    noteServed(served) {
      for (const { key, route, addresses } of served) {
        const [service = ''] = key.split(/[:]/)
        const [address] = addresses
        if (address !== undefined && route?.family === 'ipv4') addressByService.set(service, address)
        else addressByService.delete(service)
      }
      topic.changed()
    },
    async run(signal) {
      signal.addEventListener('abort', () => ending.abort(), { once: true })
      await stage.run(signal)
    },
  }
}

/** The sample application as something to play with: what it is now, and what can be done to it. */
import type { Clock } from '../../../core/clock.ts'
import type { ApiServer } from '../../../embedded/api-server.ts'
import type { DemoAction, DemoButton, DemoReplica, DemoService, DemoState } from '../../../observe/console/wire.ts'
import type { KubeClient } from '../../../sources/kube/kube-client.ts'
import { hostPort } from '../../../net/ip.ts'
import { runAll } from '../../run-all.ts'
import { namespace, sampleServices } from '../sample-application.ts'
import type { ReplicaServers } from '../replica-servers.ts'
import { DemoRefusal } from './demo-refusal.ts'
import { apiServerButton, replicaButtons, serviceButtons } from './stage-buttons.ts'
import { mostReplicas, StageCrew, usualPace } from './stage-crew.ts'
import type { StagePace } from './stage-crew.ts'
import { StageObjects } from './stage-objects.ts'
import type { StageReplica, StageScene, StageService } from './stage-objects.ts'
import { isDraining, StageWrites } from './stage-writes.ts'
import { Story } from './story.ts'

export interface DemoStageOptions {
  readonly client: KubeClient
  readonly apiServer: Pick<ApiServer, 'outage'>
  readonly servers: ReplicaServers
  readonly clock: Clock
  readonly pace?: StagePace
  /** Something that `state` shows has changed. */
  readonly onChange: () => void
}

export type StageState = Omit<DemoState, 'kubeconfig' | 'services'> & {
  readonly services: readonly Omit<DemoService, 'address' | 'clients'>[]
}

/** After a write that failed: whatever it was, the next one may succeed. */
const retryMs = 500
/** The longest that a timer can wait. */
const untilWoken = 2 ** 31 - 1

export class DemoStage {
  readonly #options: DemoStageOptions
  readonly #objects: StageObjects
  readonly #writes: StageWrites
  readonly #crew: StageCrew
  readonly #story: Story
  #outage: AsyncDisposable | undefined
  #wake = new AbortController()

  constructor(options: DemoStageOptions) {
    const { client, servers, clock, pace = usualPace, onChange } = options
    this.#options = options
    this.#story = new Story(clock)
    this.#objects = new StageObjects({
      client,
      clock,
      onChange: () => {
        if (!this.#objects.isComplete) return
        this.#story.see(this.#objects.scene())
        this.#wake.abort()
        onChange()
      },
    })
    this.#writes = new StageWrites(client, (object) => this.#objects.note(object))
    this.#crew = new StageCrew({ servers, writes: this.#writes, clock, pace })
  }

  run(signal: AbortSignal): Promise<void> {
    return runAll([this.#objects, { run: (running) => this.#follow(running) }], signal)
  }

  get state(): StageState {
    const scene = this.#objects.scene()
    const isApiServerUp = this.#outage === undefined
    const usable = (button: DemoButton): DemoButton =>
      isApiServerUp ? button : { ...button, whyNot: 'the API server is away, so nothing can be changed' }
    return {
      isApiServerUp,
      apiServer: apiServerButton(isApiServerUp),
      services: inTheirOrder(scene).map((service) => {
        const replicas = replicasOf(scene, service.name)
        return {
          key: `${namespace}/${service.name}`,
          protocol: sampleServices.find(({ name }) => name === service.name)?.protocol ?? 'TCP',
          hasAffinity: service.hasAffinity,
          replicas: replicas.map((replica) => shownReplica(replica, usable)),
          actions: serviceButtons(service, replicas.filter(({ isTerminating }) => !isTerminating).length).map(usable),
        }
      }),
      story: this.#story.moments,
    }
  }

  /** Throws a DemoRefusal. */
  async act(action: DemoAction, signal: AbortSignal): Promise<void> {
    if (action.kind === 'api-server') return this.#setApiServer(action.to === 'on')
    if (this.#outage !== undefined) throw new DemoRefusal('the API server is away: bring it back first')
    const scene = this.#objects.scene()
    switch (action.kind) {
      case 'stop':
      case 'start':
        return this.#writes.setStopped(replicaIn(scene, action).name, action.kind === 'stop', signal)
      case 'drain': {
        const { name, port } = replicaIn(scene, action)
        return this.#writes.setConditions(name, isDraining, port, signal)
      }
      case 'scale':
        return this.#writes.orderScale(serviceIn(scene, action), replicasWanted(action), signal)
      case 'affinity':
        return this.#writes.setAffinity(serviceIn(scene, action), action.to === 'on', signal)
      default:
        return action.kind satisfies never
    }
  }

  async #setApiServer(isWanted: boolean): Promise<void> {
    if (isWanted === (this.#outage === undefined)) return
    if (isWanted) {
      await this.#outage?.[Symbol.asyncDispose]()
      this.#outage = undefined
      this.#story.tell('The API server is back: the proxy takes up its watches where they ended.')
    } else {
      this.#outage = await this.#options.apiServer.outage()
      this.#story.tell('The API server is gone. Traffic is not: the proxy goes on with what it knows.')
    }
    this.#options.onChange()
  }

  /** The crew works whenever objects have changed, or something is due. */
  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake = new AbortController()
      const waitMs = await this.#work(signal)
      await this.#options.clock.sleep(waitMs, AbortSignal.any([signal, this.#wake.signal])).catch(() => {})
    }
  }

  async #work(signal: AbortSignal): Promise<number> {
    if (!this.#objects.isComplete) return untilWoken
    try {
      return (await this.#crew.work(this.#objects.scene(), signal)) ?? untilWoken
    } catch {
      return retryMs
    }
  }
}

function inTheirOrder({ services }: StageScene): readonly StageService[] {
  return sampleServices.flatMap(({ name }) => services.get(name) ?? [])
}

function replicasOf(scene: StageScene, service: string): readonly StageReplica[] {
  return [...scene.replicas.values()].filter((replica) => replica.service === service)
}

function shownReplica(replica: StageReplica, usable: (button: DemoButton) => DemoButton): DemoReplica {
  const { name, ip, port, isStopped, isReady, isTerminating } = replica
  const state = isTerminating ? 'draining' : isStopped ? 'stopped' : isReady ? 'running' : 'unready'
  return { name, address: hostPort(ip, port), state, actions: replicaButtons(replica).map(usable) }
}

function replicaIn({ replicas }: StageScene, { replica = '' }: DemoAction): StageReplica {
  const found = replicas.get(replica)
  if (found === undefined) throw new DemoRefusal(`there is no replica "${replica}"`)
  return found
}

function serviceIn({ services }: StageScene, { service = '' }: DemoAction): string {
  const found = [...services.keys()].find((name) => `${namespace}/${name}` === service)
  if (found === undefined) throw new DemoRefusal(`the sample application has no Service "${service}"`)
  return found
}

function replicasWanted({ to }: DemoAction): number {
  if (typeof to === 'number' && Number.isInteger(to) && to >= 0 && to <= mostReplicas) return to
  throw new DemoRefusal(`a Service of the demo has 0 to ${mostReplicas} replicas, not ${JSON.stringify(to)}`)
}

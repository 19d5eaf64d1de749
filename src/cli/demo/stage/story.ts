/** What happened on the stage, in sentences. It is told from the objects, so it does not matter who changed them. */
import type { Clock } from '../../../core/clock.ts'
import type { DemoMoment } from '../../../observe/console/wire.ts'
import { namespace } from '../sample-application.ts'
import type { StageReplica, StageScene } from './stage-objects.ts'

const longest = 40

export class Story {
  readonly #clock: Clock
  #moments: readonly DemoMoment[] = []
  #last: StageScene | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get moments(): readonly DemoMoment[] {
    return this.#moments
  }

  /** The first scene is where it begins: nothing has happened. */
  see(scene: StageScene): void {
    const before = this.#last
    this.#last = scene
    if (before !== undefined) for (const { service, text } of whatHappened(before, scene)) this.tell(text, service)
  }

  /** Without a Service, it concerns all of them. */
  tell(text: string, service?: string): void {
    const at = new Date(this.#clock.now()).toISOString()
    const moment = { at, ...(service !== undefined && { service: `${namespace}/${service}` }), text }
    this.#moments = [...this.#moments, moment].slice(-longest)
  }
}

interface Happening {
  readonly service: string
  readonly text: string
}

function whatHappened(before: StageScene, after: StageScene): readonly Happening[] {
  const happenings: Happening[] = []
  for (const { name, hasAffinity } of after.services.values()) {
    const old = before.services.get(name)
    if (old === undefined || old.hasAffinity === hasAffinity) continue
    const text = hasAffinity
      ? `${name} has affinity now: each client stays with the replica that answers it next.`
      : `${name} has no affinity any more: every connection is balanced anew.`
    happenings.push({ service: name, text })
  }
  for (const replica of after.replicas.values()) {
    const text = whatHappenedTo(before.replicas.get(replica.name), replica)
    if (text !== undefined) happenings.push({ service: replica.service, text })
  }
  for (const { name, service } of before.replicas.values())
    if (!after.replicas.has(name)) happenings.push({ service, text: `${name} is gone: the proxy has forgotten it.` })
  return happenings
}

function whatHappenedTo(before: StageReplica | undefined, after: StageReplica): string | undefined {
  const { name, isStopped, isReady, isTerminating } = after
  if (before === undefined) return `${name} is new and ready: it takes its share of new connections.`
  if (isTerminating && !before.isTerminating)
    return `${name} is terminating and still serving: new connections go to the others while there are any.`
  if (isStopped && !before.isStopped)
    return `The server of ${name} has stopped. Nobody has told the proxy: when a dial fails, it dials the next replica.`
  if (before.isReady && !isReady && !isTerminating)
    return isStopped
      ? `${name} has failed its probe and is marked not ready: the proxy sends it nothing more.`
      : `${name} is marked not ready: the proxy sends it nothing more, though its server still runs.`
  if (!before.isReady && isReady) return `${name} is ready again: it takes its share of new connections.`
  if (!isStopped && before.isStopped) return `The server of ${name} runs again.`
  return undefined
}

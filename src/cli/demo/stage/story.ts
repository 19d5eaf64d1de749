/** What happened on the stage, in sentences. It is told from the objects, so it does not matter who changed them. */
import type { Clock } from '../../../core/clock.ts'
import type { DemoMoment } from '../../../observe/console/wire.ts'
import type { StageReplica, StageScene } from './stage-objects.ts'

const longest = 30

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
    if (before !== undefined) this.tell(...whatHappened(before, scene))
  }

  tell(...texts: readonly string[]): void {
    const at = new Date(this.#clock.now()).toISOString()
    this.#moments = [...this.#moments, ...texts.map((text) => ({ at, text }))].slice(-longest)
  }
}

function whatHappened(before: StageScene, after: StageScene): readonly string[] {
  const texts: string[] = []
  for (const { name, hasAffinity } of after.services.values()) {
    const old = before.services.get(name)
    if (old === undefined || old.hasAffinity === hasAffinity) continue
    texts.push(
      hasAffinity
        ? `${name} has affinity now: each client stays with the replica that answers it next.`
        : `${name} has no affinity any more: every connection is balanced anew.`,
    )
  }
  for (const replica of after.replicas.values()) {
    const text = whatHappenedTo(before.replicas.get(replica.name), replica)
    if (text !== undefined) texts.push(text)
  }
  for (const { name } of before.replicas.values())
    if (!after.replicas.has(name)) texts.push(`${name} is gone: the proxy has forgotten it.`)
  return texts
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

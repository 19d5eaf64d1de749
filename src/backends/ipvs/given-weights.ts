/**
 * The weights that we gave to endpoints, as far as they are not 1. Like the list of `Draining` it outlives the plan: after
 * a sync that failed the kernel is read again, and only this tells our weights from those that an operator has set.
 */
import type { ServerId } from './planned-server.ts'

const usual = 1

export class GivenWeights {
  readonly #weightsById = new Map<ServerId, Map<string, number>>()
  /**
   * Whether a weight that is neither here nor draining is an operator's. Not at the start, and not after a write without
   * an answer: then a full sync gives all endpoints their weight.
   */
  areKnown = false

  of(id: ServerId, address: string): number {
    return this.#weightsById.get(id)?.get(address) ?? usual
  }

  note(id: ServerId, address: string, weight: number): void {
    if (weight === usual) return this.forget(id, address)
    let ofServer = this.#weightsById.get(id)
    if (ofServer === undefined) this.#weightsById.set(id, (ofServer = new Map()))
    ofServer.set(address, weight)
  }

  forget(id: ServerId, address: string): void {
    const ofServer = this.#weightsById.get(id)
    if (ofServer?.delete(address) === true && ofServer.size === 0) this.#weightsById.delete(id)
  }

  forgetServer(id: ServerId): void {
    this.#weightsById.delete(id)
  }
}

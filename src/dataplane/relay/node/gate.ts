/**
 * How many connections a Service port may have, and how many dials in a second: for all of its pools together, and for each of
 * its endpoints. What is open is what the endpoints have open, so a limit that comes late counts those that are there. The native
 * engine does the same in `gate.c`.
 */
import type { Full, PoolLimits } from '../relay.ts'

/** At most so many dials in any second: those of the last slots count, and the window is as much as one slot too long. */
const slots = 21
const slotMs = 1_000 / (slots - 1)

class Metered {
  open = 0
  #slot = 0
  readonly #dials = new Uint32Array(slots)

  dials(nowMs: number): number {
    this.#advance(nowMs)
    return this.#dials.reduce((sum, count) => sum + count, 0)
  }

  enter(nowMs: number): void {
    this.#advance(nowMs)
    this.open++
    const index = this.#slot % slots
    this.#dials[index] = (this.#dials[index] ?? 0) + 1
  }

  #advance(nowMs: number): void {
    const slot = Math.floor(nowMs / slotMs)
    if (slot - this.#slot >= slots) this.#slot = slot - slots
    while (this.#slot < slot) this.#dials[++this.#slot % slots] = 0
  }
}

export class Gate {
  readonly #all = new Metered()
  /** Pools may have the same endpoint. */
  readonly #metersByName = new Map<string, { readonly metered: Metered; pools: number }>()
  limits: PoolLimits

  constructor(limits: PoolLimits) {
    this.limits = limits
  }

  /** What the endpoint has open in a pool counts from now on. */
  add(name: string, open: number): void {
    const meter = this.#metersByName.get(name) ?? { metered: new Metered(), pools: 0 }
    this.#metersByName.set(name, meter)
    meter.pools++
    meter.metered.open += open
    this.#all.open += open
  }

  remove(name: string, open: number): void {
    const meter = this.#metersByName.get(name)
    if (meter === undefined) return
    meter.pools--
    meter.metered.open -= open
    this.#all.open -= open
    if (meter.pools === 0) this.#metersByName.delete(name)
  }

  whyFull(nowMs: number): Full | undefined {
    const { connections, dialsPerSecond } = this.limits
    return whyFull(this.#all, connections, dialsPerSecond, nowMs)
  }

  whyEndpointFull(name: string, nowMs: number): Full | undefined {
    const { connectionsPerEndpoint, dialsPerSecondPerEndpoint } = this.limits
    const meter = this.#metersByName.get(name)
    return meter && whyFull(meter.metered, connectionsPerEndpoint, dialsPerSecondPerEndpoint, nowMs)
  }

  enter(name: string, nowMs: number): void {
    this.#all.enter(nowMs)
    this.#metersByName.get(name)?.metered.enter(nowMs)
  }

  leave(name: string): void {
    this.#all.open--
    const meter = this.#metersByName.get(name)
    if (meter !== undefined) meter.metered.open--
  }
}

function whyFull(
  metered: Metered,
  mostOpen: number | undefined,
  mostDials: number | undefined,
  nowMs: number,
): Full | undefined {
  if (mostOpen !== undefined && metered.open >= mostOpen) return 'max-connections'
  if (mostDials !== undefined && metered.dials(nowMs) >= mostDials) return 'max-dials-per-second'
  return undefined
}

/** Those in use, by the name that pools share. */
export class Gates {
  readonly #heldByName = new Map<string, { readonly gate: Gate; holders: number }>()

  /** The one of that name, with these limits from now on. */
  acquire(limits: PoolLimits): Gate {
    const held = this.#heldByName.get(limits.sharedAs) ?? { gate: new Gate(limits), holders: 0 }
    this.#heldByName.set(limits.sharedAs, held)
    held.holders++
    held.gate.limits = limits
    return held.gate
  }

  release({ limits: { sharedAs } }: Gate): void {
    const held = this.#heldByName.get(sharedAs)
    if (held === undefined) return
    held.holders--
    if (held.holders === 0) this.#heldByName.delete(sharedAs)
  }
}

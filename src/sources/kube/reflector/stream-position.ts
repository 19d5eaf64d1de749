import type { WatchEvent } from './watch-events.ts'

/**
 * How far we have followed the server's history of one kind of object. Versions only grow, so an event that does not
 * move forward is either a repetition or a sign that the stream is out of order.
 */
export class StreamPosition {
  #version: string
  /**
   * The event at this version, to tell a repetition from a second object of the same version. Empty after a list or a
   * bookmark: then we have everything of this version.
   */
  #lastEvent = ''

  constructor(version: string) {
    this.#version = version
  }

  get version(): string {
    return this.#version
  }

  /** Moves to the event, unless we had it (`repeated`) or it is older (`backwards`). */
  advance(event: WatchEvent): 'next' | 'repeated' | 'backwards' {
    const { type, key, version } = event
    if (version === undefined) return 'next' // a broken object: let the reader report it
    const name = `${type} ${key}`
    const order = compareVersions(version, this.#version)
    if (order < 0) return 'backwards'
    if (order === 0 && (this.#lastEvent === '' || name === this.#lastEvent)) return 'repeated'
    this.#version = version
    this.#lastEvent = type === 'BOOKMARK' ? '' : name
    return 'next'
  }
}

/** Negative if `a` is older. Versions that are not numbers cannot be compared and count as newer. */
function compareVersions(a: string, b: string): number {
  if (a === b) return 0
  if (!isNumber(a) || !isNumber(b)) return 1
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : 1
}

function isNumber(version: string): boolean {
  return /^(0|[1-9]\d*)$/.test(version)
}

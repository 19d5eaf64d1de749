import type { WatchEvent } from './watch-events.ts'

/**
 * How far we have followed the server's history of one kind of object. Within a history versions only grow, so an
 * event that does not move forward is either one we had or a sign that the stream is out of order.
 */
export class StreamPosition {
  #version: string
  /**
   * What happened at this version, to tell a repetition from a second object of the same version. Empty when a list or
   * a bookmark brought us here: then we have all of it.
   */
  #lastEvent = ''

  constructor(version: string) {
    this.#version = version
  }

  /** The version to go on from. */
  get version(): string {
    return this.#version
  }

  /** Moves to the event, unless it was there before (`repeated`) or lies behind (`backwards`). */
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

/** Negative when `a` is older. Versions that are not numbers cannot be compared and count as newer. */
function compareVersions(a: string, b: string): number {
  if (a === b) return 0
  if (!isNumber(a) || !isNumber(b)) return 1
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : 1
}

function isNumber(version: string): boolean {
  return /^(0|[1-9]\d*)$/.test(version)
}

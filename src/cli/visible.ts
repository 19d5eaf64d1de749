/**
 * Text that others wrote: names and command lines of processes, comments of rules, answers of whoever listens on a port.
 * It must not steer the terminal of the one who reads it, who may be root.
 */

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g

/** Escapes control characters. Lines stay lines. */
export function visible(text: string): string {
  return text.replaceAll(steering, escaped)
}

/** Where it must not look like several lines, either. */
export function visibleInOneLine(text: string): string {
  return visible(text).replaceAll(/[\t\n]/g, escaped)
}

/** JSON, with every text in it visible. */
export function parseVisible(json: string): unknown {
  return JSON.parse(json, (_key, value: unknown) => {
    if (typeof value === 'string') return visible(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const entries = Object.entries(value)
    const hidden = entries.some(([name]) => visible(name) !== name)
    return hidden ? Object.fromEntries(entries.map(([name, each]) => [visible(name), each])) : value
  })
}

/** The same for what was not read as JSON, but could have been. */
export function visibleData<T extends object>(data: T): T {
  return parseVisible(JSON.stringify(data)) as T
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

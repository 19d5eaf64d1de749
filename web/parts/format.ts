/** Numbers, durations and times as people read them. All pure; what is now is handed in. */

/** `0`, `0.4`, `12`, `3.4k`, `1.2M`: three digits at most. */
export function shortNumber(value: number): string {
  const size = Math.abs(value)
  if (size >= 999_500) return `${trimmed(value / 1_000_000)}M`
  if (size >= 999.5) return `${trimmed(value / 1_000)}k`
  return trimmed(value)
}

function trimmed(value: number): string {
  const size = Math.abs(value)
  const digits = size === 0 || size >= 99.5 || Number.isInteger(value) ? 0 : size >= 9.95 ? 0 : size >= 0.095 ? 1 : 2
  return value.toFixed(digits).replace(/\.0+$/, '')
}

/** `1,234`: every digit, in groups. */
export function wholeNumber(value: number): string {
  return String(Math.round(value)).replaceAll(/\B(?=(\d{3})+(?!\d))/g, ',')
}

/** `12/s` */
export function rate(perSecond: number): string {
  return `${shortNumber(perSecond)}/s`
}

/** `512 B`, `1.2 KiB`, `3.4 GiB` */
export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
  let rest = value
  let unit = 0
  while (Math.abs(rest) >= 999.5 && unit < units.length - 1) {
    rest /= 1024
    unit++
  }
  return `${trimmed(rest)} ${units[unit]}`
}

/** `33 %`; small parts are not nothing: `0.4 %`. */
export function percent(part: number): string {
  const value = part * 100
  return `${value > 0 && value < 10 ? trimmed(value) : Math.round(value)} %`
}

/** `0.4 ms`, `12 ms`, `1.5 s`, `3 min`, `2 h`, `4 d` */
export function duration(ms: number): string {
  if (ms < 0.0005) return '0 ms'
  if (ms < 1) return `${Number(ms.toPrecision(2))} ms`
  if (ms < 999.5) return `${trimmed(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 99.5) return `${trimmed(seconds)} s`
  const minutes = seconds / 60
  if (minutes < 99.5) return `${Math.round(minutes)} min`
  const hours = minutes / 60
  if (hours < 47.5) return `${Math.round(hours)} h`
  return `${Math.round(hours / 24)} d`
}

/** `just now`, `4 s ago`, `3 min ago` */
export function ago(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at)
  if (Number.isNaN(ms)) return at
  return ms < 1000 ? 'just now' : `${duration(Math.floor(ms / 1000) * 1000)} ago`
}

/** `14:03:09.120`, in the reader's own time. */
export function timeOfDay(at: string, isExact = false): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return at
  const two = (value: number) => String(value).padStart(2, '0')
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return isExact ? `${text}.${String(date.getMilliseconds()).padStart(3, '0')}` : text
}

/** `1 endpoint`, `2 endpoints` */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${wholeNumber(value)} ${value === 1 ? one : many}`
}

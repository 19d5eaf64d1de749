/** Ages as kubectl prints them: at most two units, and the smaller one only for short ages. */
export function renderAge(timestamp: string | undefined, nowMs: number): string {
  const since = Date.parse(timestamp ?? '')
  if (Number.isNaN(since)) return '<unknown>'
  return renderDuration(nowMs - since)
}

export function renderDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  // The clocks of two machines may differ a little.
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (days < 8) return withRest(days, 'd', hours % 24, 'h')
  if (days < 730) return `${days}d`
  const years = Math.floor(days / 365)
  return years < 8 ? withRest(years, 'y', days % 365, 'd') : `${years}y`
}

function withRest(whole: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${whole}${unit}` : `${whole}${unit}${rest}${restUnit}`
}

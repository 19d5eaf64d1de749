/** Names end up in rules and comments of kernel tools, so anything else is refused. */
export function isObjectName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 253 && /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(value)
}

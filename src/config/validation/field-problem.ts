import { shortened, shownValue } from '../../net/shown-value.ts'

/** Problems in the form Kubernetes reports them: `<path>: Invalid value: <value>: <reason>`. */
export function invalid(path: string, value: unknown, reason: string): string {
  return `${path}: Invalid value: ${shortened(JSON.stringify(value) ?? typeof value)}: ${reason}`
}

export function unsupported(path: string, value: string, supported: readonly string[]): string {
  const list = supported.map((item) => JSON.stringify(item)).join(', ')
  return `${path}: Unsupported value: ${shownValue(value)}: supported values: ${list}`
}

export function forbidden(path: string, reason: string): string {
  return `${path}: Forbidden: ${reason}`
}

export function required(path: string, reason: string): string {
  return `${path}: Required value: ${reason}`
}

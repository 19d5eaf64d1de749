/** The name formats of Kubernetes. Each function returns what is wrong with a text, if anything. */

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const dns1123Label = new RegExp(`^${label}$`)
const dns1123Subdomain = new RegExp(`^${label}(\\.${label})*$`)
const qualifiedNamePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

export function wrongDns1123Label(text: string): string | undefined {
  if (text.length > 63) return tooLong(63)
  if (dns1123Label.test(text)) return undefined
  return (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
  )
}

export function wrongDns1123Subdomain(text: string): string | undefined {
  if (text.length > 253) return tooLong(253)
  if (dns1123Subdomain.test(text)) return undefined
  return (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " +
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
  )
}

/** `name` or `prefix.example/name`, the form of label keys, annotations, finalizers and load balancer classes. */
export function wrongQualifiedName(text: string): string | undefined {
  const parts = text.split('/')
  if (parts.length > 2) return 'a qualified name must have at most one "/", between an optional DNS prefix and the name'
  const name = parts.at(-1) ?? ''
  if (parts.length === 2) {
    const prefix = parts[0] ?? ''
    if (prefix === '') return 'prefix part must be non-empty'
    const wrong = wrongDns1123Subdomain(prefix)
    if (wrong !== undefined) return `prefix part ${wrong}`
  }
  if (name === '') return 'name part must be non-empty'
  if (name.length > 63) return `name part ${tooLong(63)}`
  if (qualifiedNamePart.test(name)) return undefined
  return (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
  )
}

export function wrongLabelValue(text: string): string | undefined {
  if (text.length > 63) return tooLong(63)
  if (labelValue.test(text)) return undefined
  return (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
  )
}

/** A target port by name. */
export function wrongPortName(text: string): string | undefined {
  if (text.length > 15) return 'must be no more than 15 characters'
  if (!/^[-a-z0-9]+$/.test(text)) return 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)'
  if (!/[a-z]/.test(text)) return 'must contain at least one letter (a-z)'
  if (text.includes('--')) return 'must not contain consecutive hyphens'
  if (text.startsWith('-') || text.endsWith('-')) return 'must not begin or end with a hyphen'
  return undefined
}

function tooLong(limit: number): string {
  return `must be no more than ${limit} characters`
}

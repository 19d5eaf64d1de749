/** Which cluster IPs and IP families go together, and which may change. */
import { familyOf, parseIp } from '../../net/ip.ts'
import type { FieldError } from '../resource.ts'
import { ipErrors } from './address-errors.ts'
import { duplicate, forbidden, invalid, notSupported, required } from './field-errors.ts'
import type { ServiceSpec } from './service-type.ts'
import { needsClusterIP } from './service-type.ts'

const policies = ['SingleStack', 'PreferDualStack', 'RequireDualStack']

/** Checks the addresses that the client asked for, before any is allocated. */
export function addressRequestErrors(spec: ServiceSpec): FieldError[] {
  return needsClusterIP(spec) ? [...familyErrors(spec), ...clusterIPErrors(spec)] : externalNameErrors(spec)
}

/** The first address never changes; a second one may come and go with the policy. */
export function addressChangeErrors(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (!needsClusterIP(spec) || !needsClusterIP(old)) return []
  const errors: FieldError[] = []
  if (old.clusterIPs?.[0] !== undefined && spec.clusterIPs?.[0] !== old.clusterIPs[0])
    errors.push(invalid('spec.clusterIPs[0]', spec.clusterIPs, 'may not change once set'))
  if (old.ipFamilies?.[0] !== undefined && spec.ipFamilies?.[0] !== old.ipFamilies[0])
    errors.push(invalid('spec.ipFamilies[0]', spec.ipFamilies, 'may not change once set'))
  const second = old.clusterIPs?.[1]
  if (second !== undefined && spec.clusterIPs?.[1] !== undefined && spec.clusterIPs[1] !== second)
    errors.push(invalid('spec.clusterIPs[1]', spec.clusterIPs, 'may not change once set'))
  return errors
}

function externalNameErrors(spec: ServiceSpec): FieldError[] {
  const fields = ['clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] as const
  return fields
    .filter((field) => (spec[field]?.length ?? 0) > 0)
    .map((field) => forbidden(`spec.${field}`, 'may not be set for ExternalName services'))
}

function familyErrors({ ipFamilies = [], ipFamilyPolicy }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = []
  if (ipFamilyPolicy !== undefined && !policies.includes(ipFamilyPolicy))
    errors.push(notSupported('spec.ipFamilyPolicy', ipFamilyPolicy, policies))
  for (const [index, family] of ipFamilies.entries()) {
    if (family !== 'IPv4' && family !== 'IPv6')
      errors.push(notSupported(`spec.ipFamilies[${index}]`, family, ['IPv4', 'IPv6']))
    else if (ipFamilies.indexOf(family) < index) errors.push(duplicate(`spec.ipFamilies[${index}]`, family))
  }
  return errors
}

function clusterIPErrors({ clusterIP = '', clusterIPs = [], ipFamilies = [] }: ServiceSpec): FieldError[] {
  if (clusterIPs.length === 0) return clusterIP === '' ? [] : [required('spec.clusterIPs')]
  const errors: FieldError[] = []
  const wrong = (detail: string): FieldError => invalid('spec.clusterIPs', clusterIPs, detail)
  if (clusterIP === '') errors.push(wrong('must be empty when `clusterIP` is not specified'))
  else if (clusterIPs[0] !== clusterIP) errors.push(wrong('first value must match `clusterIP`'))
  if (clusterIPs.length > 2) errors.push(wrong('may only hold up to 2 values'))
  if (clusterIPs.includes('None'))
    return clusterIPs.length === 1 ? errors : [...errors, wrong("'None' must be the first and only value")]
  const addressErrors = clusterIPs.flatMap((ip, index) => ipErrors(`spec.clusterIPs[${index}]`, ip))
  if (addressErrors.length > 0) return [...errors, ...addressErrors]
  const families = clusterIPs.map((ip) => (familyOf(parseIp(ip) ?? ip) === 'ipv4' ? 'IPv4' : 'IPv6'))
  if (families.length === 2 && families[0] === families[1])
    errors.push(wrong('may specify no more than one IP for each IP family'))
  for (const [index, family] of families.entries()) {
    const wanted = ipFamilies[index]
    if (wanted === undefined || wanted === family) continue
    const detail = `expected an ${wanted} value as indicated by \`ipFamilies[${index}]\``
    errors.push(invalid(`spec.clusterIPs[${index}]`, clusterIPs[index], detail))
  }
  return errors
}

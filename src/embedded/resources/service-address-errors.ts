/** Cluster IPs and IP families: what goes together, and what may change. */
import { familyOf, parseIp } from '../../net/ip.ts'
import type { FieldError } from '../resource.ts'
import { ipErrors } from './address-errors.ts'
import { duplicate, forbidden, invalid, notSupported, required } from './field-errors.ts'
import type { ServiceSpec } from './service-type.ts'
import { needsClusterIP } from './service-type.ts'

const policies = ['SingleStack', 'PreferDualStack', 'RequireDualStack']

export function serviceAddressErrors(spec: ServiceSpec, old: ServiceSpec | undefined): FieldError[] {
  if (!needsClusterIP(spec)) return externalNameErrors(spec)
  return [
    ...familyErrors(spec),
    ...clusterIPErrors(spec),
    ...(old !== undefined && needsClusterIP(old) ? changeErrors(spec, old) : []),
  ]
}

function externalNameErrors(spec: ServiceSpec): FieldError[] {
  const fields = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] as const
  return fields
    .filter((field) => (spec[field]?.length ?? 0) > 0)
    .map((field) => forbidden(`spec.${field}`, 'may not be set for ExternalName services'))
}

function familyErrors({ ipFamilies = [], ipFamilyPolicy = '' }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = []
  if (!policies.includes(ipFamilyPolicy)) errors.push(notSupported('spec.ipFamilyPolicy', ipFamilyPolicy, policies))
  for (const [index, family] of ipFamilies.entries()) {
    if (family !== 'IPv4' && family !== 'IPv6')
      errors.push(notSupported(`spec.ipFamilies[${index}]`, family, ['IPv4', 'IPv6']))
    else if (ipFamilies.indexOf(family) < index) errors.push(duplicate(`spec.ipFamilies[${index}]`, family))
  }
  return errors
}

function clusterIPErrors({ clusterIP = '', clusterIPs = [], ipFamilies = [] }: ServiceSpec): FieldError[] {
  if (clusterIPs.length === 0) return clusterIP === '' ? [] : [required('spec.clusterIPs')]
  if (clusterIP === '')
    return [invalid('spec.clusterIPs', clusterIPs, 'must be empty when `clusterIP` is not specified')]
  if (clusterIPs[0] !== clusterIP) return [invalid('spec.clusterIPs', clusterIPs, 'first value must match `clusterIP`')]
  if (clusterIPs.length > 2) return [invalid('spec.clusterIPs', clusterIPs, 'may only hold up to 2 values')]
  if (clusterIPs.includes('None'))
    return clusterIPs.length === 1
      ? []
      : [invalid('spec.clusterIPs', clusterIPs, "'None' must be the first and only value")]
  const errors = clusterIPs.flatMap((ip, index) => ipErrors(`spec.clusterIPs[${index}]`, ip))
  if (errors.length > 0) return errors
  const families = clusterIPs.map((ip) => (familyOf(parseIp(ip) ?? ip) === 'ipv4' ? 'IPv4' : 'IPv6'))
  if (families.length === 2 && families[0] === families[1])
    return [invalid('spec.clusterIPs', clusterIPs, 'may specify no more than one IP for each IP family')]
  return families.flatMap((family, index) =>
    ipFamilies[index] === undefined || ipFamilies[index] === family
      ? []
      : [
          invalid(
            `spec.clusterIPs[${index}]`,
            clusterIPs[index],
            `expected an ${ipFamilies[index]} value as indicated by \`ipFamilies[${index}]\``,
          ),
        ],
  )
}

/** The first address is for life; a second one may come and go with the policy. */
function changeErrors(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
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

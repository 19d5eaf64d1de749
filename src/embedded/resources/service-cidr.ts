import { parseCidr } from '../../net/ip.ts'
import type { ApiObject, FieldError, ResourceType } from '../resource.ts'
import { cidrErrors } from './address-errors.ts'
import { renderAge } from './age.ts'
import { ageColumn, column, nameColumn } from './columns.ts'
import { defineResource } from './define-resource.ts'
import { invalid, required } from './field-errors.ts'
import { wrongDns1123Subdomain } from './names.ts'
import { serviceCidrSchema } from './schemas/service-cidr.ts'

interface ServiceCidr extends ApiObject {
  readonly spec?: { readonly cidrs?: readonly string[] }
}

export const serviceCidrs: ResourceType = defineResource<ServiceCidr>({
  schema: serviceCidrSchema,
  plural: 'servicecidrs',
  singular: 'servicecidr',
  shortNames: [],
  categories: [],
  isNamespaced: false,
  hasStatus: true,
  wrongName: wrongDns1123Subdomain,
  columns: [nameColumn, column('CIDRs', 'Ranges for cluster IPs.'), ageColumn],
  cells: ({ metadata, spec }, nowMs) => [
    metadata.name,
    (spec?.cidrs ?? []).join(','),
    renderAge(metadata.creationTimestamp, nowMs),
  ],
  complete: (object, old) => ({ object: old === undefined ? { ...object, status: {} } : object, errors: [] }),
  validate,
})

function validate({ spec }: ServiceCidr, old: ServiceCidr | undefined): FieldError[] {
  const cidrs = spec?.cidrs ?? []
  const before = old?.spec?.cidrs ?? cidrs
  const changed = cidrs.findIndex((cidr, index) => cidr !== before[index])
  if (changed >= 0) return [invalid(`spec.cidrs[${changed}]`, cidrs[changed], 'field is immutable')]
  if (cidrs.length !== before.length) return [invalid('spec.cidrs', cidrs, 'field is immutable')]
  if (cidrs.length === 0) return [required('spec.cidrs', 'at least one CIDR required')]
  if (cidrs.length > 2) return [invalid('spec.cidrs', cidrs, 'may only hold up to 2 values')]
  const errors = cidrs.flatMap((cidr, index) => cidrErrors(`spec.cidrs[${index}]`, cidr))
  const families = cidrs.map((cidr) => parseCidr(cidr)?.family)
  if (errors.length === 0 && families.length === 2 && families[0] === families[1])
    errors.push(
      invalid(
        'spec.cidrs',
        cidrs,
        'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/96',
      ),
    )
  return errors
}

import { atomicList, field, keyedList, object, string } from '../schema.ts'
import { condition, kindSchema } from './metadata.ts'

const serviceCidrSpec = object('io.k8s.api.networking.v1.ServiceCIDRSpec', 'Ranges for cluster IPs.', {
  cidrs: atomicList('At most one range per family. They cannot be changed.', string('')),
})

const serviceCidrStatus = object('io.k8s.api.networking.v1.ServiceCIDRStatus', 'The current state.', {
  conditions: keyedList('Current state of the ServiceCIDR.', condition, ['type']),
})

export const serviceCidrSchema = kindSchema({
  name: 'io.k8s.api.networking.v1.ServiceCIDR',
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'ServiceCIDR',
  description: 'Ranges from which cluster IPs are given to Services.',
  fields: {
    spec: field(serviceCidrSpec, 'What is wanted.'),
    status: field(serviceCidrStatus, 'What is. Only the system writes it.'),
  },
})

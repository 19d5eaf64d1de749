/** The second document of the configuration file. kube-proxy reads the first one only, so both can share a file. */
import { parseCidr } from '../../net/ip.ts'
import { guardModes } from '../proxy-config.ts'
import { bool, listOf, object, scalar, text, uint32 } from './schema.ts'

export const fairleadApiVersion = 'fairlead.dev/v1alpha1'
export const fairleadKind = 'FairleadConfiguration'

const guardMode = scalar(guardModes.join(' or '), (value) => guardModes.find((mode) => mode === value))

const cidr = scalar('a range of addresses, such as 192.0.2.0/24', (value) =>
  typeof value === 'string' && parseCidr(value) !== undefined ? value : undefined,
)

export const fairleadConfiguration = object({
  apiVersion: text,
  kind: text,
  serviceSeriesLimit: uint32,
  strictSourceRanges: bool,
  externalIPGuard: guardMode,
  externalIPCIDRs: listOf(cidr),
  externalIPGuardNamespaces: bool,
  localhostNodePorts: bool,
  destroyOldConnections: bool,
})

export type FairleadConfiguration = typeof fairleadConfiguration.absent

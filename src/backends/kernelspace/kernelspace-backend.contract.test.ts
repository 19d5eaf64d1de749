import { families } from '../../net/ip.ts'
import { backendContract } from '../backend.contract.ts'
import { kernelspaceSite } from './testing/kernelspace-site.ts'

for (const family of families) {
  const bridge = { family, type: 'L2Bridge' } as const
  backendContract(kernelspaceSite({ ...bridge, name: 'kernelspace (Server 2022)', hns: { profile: '2022' } }))
  const degrading = { profile: '2025', endpointInUse: 'degrades its load balancers' } as const
  backendContract(kernelspaceSite({ ...bridge, name: 'kernelspace (Server 2025)', hns: degrading }))
}
// Overlay networks have one family.
backendContract(
  kernelspaceSite({ name: 'kernelspace (overlay)', family: 'ipv4', type: 'Overlay', hns: { profile: '2025' } }),
)

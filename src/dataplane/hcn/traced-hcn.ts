import type { SyncSteps } from '../../core/sync/sync-steps.ts'
import { tracedDoor } from '../../core/sync/traced-door.ts'
import type { Hcn } from './hcn.ts'

/** Each call that changes HNS is a commit in the trace of the sync. */
export function tracedHcn(hcn: Hcn, steps: SyncSteps): Hcn {
  return tracedDoor(hcn, steps, {
    createEndpoint: {
      before: (_network, { ip }) => ({ command: 'HcnCreateEndpoint', ip }),
      after: ({ id }) => ({ id }),
    },
    deleteEndpoint: { before: (id) => ({ command: 'HcnDeleteEndpoint', id }) },
    createLoadBalancer: {
      before: ({ vip, externalPort, endpoints }) => ({
        command: 'HcnCreateLoadBalancer',
        ip: vip,
        port: externalPort,
        endpoints: endpoints.length,
      }),
      after: (id) => ({ id }),
    },
    modifyLoadBalancer: {
      before: (id, { vip, externalPort, endpoints }) => ({
        command: 'HcnModifyLoadBalancer',
        id,
        ip: vip,
        port: externalPort,
        endpoints: endpoints.length,
      }),
    },
    deleteLoadBalancer: { before: (id) => ({ command: 'HcnDeleteLoadBalancer', id }) },
  })
}

import type { KernelspaceSettings } from '../settings.ts'

export const testSettings: KernelspaceSettings = {
  family: 'ipv4',
  network: { name: 'pod-net', type: 'L2Bridge' },
  enableDsr: false,
  features: { dsr: true, sessionAffinity: true, modifyLoadBalancer: false },
  sourceVip: '10.61.1.2',
  nodeIp: '172.30.7.11',
  hostMac: '00:15:5d:0a:0b:0c',
  forwardHealthCheckVip: false,
  rootEndpointName: 'cbr0',
  healthzPort: 10_256,
}

import { pauseImage } from '../images/images.ts'
import { dnsServiceAddress } from './addresses.ts'
import type { NodeAddresses } from './addresses.ts'

export const containerdConfiguration = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
address = "/run/containerd/containerd.sock"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "${pauseImage}"
[plugins.'io.containerd.cri.v1.runtime']
# Lowering it needs CAP_SYS_RESOURCE, which root does not have everywhere.
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["/usr/lib/cni"]
conf_dir = "/etc/cni/net.d"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
`

/** A pair of devices and a route for each pod: no bridge, so the rules of a proxy see every packet. */
export function cniConfiguration({ podCidrs }: NodeAddresses): object {
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          ranges: podCidrs.map((subnet) => [{ subnet }]),
          routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  }
}

export function kubeletConfiguration(options: { readonly cgroup: string; readonly caFile: string }): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${options.cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    oomScoreAdj: 0,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: options.caFile },
    },
    authorization: { mode: 'AlwaysAllow' },
    clusterDNS: [dnsServiceAddress],
    clusterDomain: 'cluster.local',
    resolvConf: '/etc/resolv.conf',
    // The disk is the machine's, and full enough or not is none of the tests' business.
    evictionHard: { 'memory.available': '0%', 'nodefs.available': '0%', 'imagefs.available': '0%' },
    imageGCHighThresholdPercent: 100,
    // A machine with few cores is busy with the tests themselves.
    runtimeRequestTimeout: '5m',
  }
}

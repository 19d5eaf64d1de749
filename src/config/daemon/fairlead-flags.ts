import { inGroup } from '../flags/flag.ts'
import * as type from '../flags/flag-types.ts'

/** What kube-proxy does not have. Options of the process, not part of its configuration file. */
export const fairleadFlags = {
  ...inGroup('Fairlead', {
    objects: {
      type: type.strings,
      default: [],
      help: 'Read Kubernetes objects from these files or directories instead of a cluster. Repeatable.',
    },
    'state-dir': {
      type: type.text,
      default: '',
      help: 'Keep the last complete state here, so that a restart without API server programs from it.',
    },
    'node-address': {
      type: type.ips,
      default: [],
      help: "The node's IP addresses, instead of those of its Node object. Repeatable.",
    },
    'service-series-limit': {
      type: type.int32,
      default: 2000,
      help: 'Count connections per Service in /metrics while there are at most this many Service ports; 0 turns it off.',
    },
    'userspace-workers': {
      type: type.int32,
      default: 0,
      help: 'Threads that carry the connections of the userspace mode; 0 means one per core, and the main one where there is one core only.',
    },
    'userspace-engine': {
      type: type.oneOf(['auto', 'native', 'node']),
      default: 'auto',
      help: 'What carries the TCP connections of the userspace mode: native, node, or auto for the first of them that runs here.',
    },
    'userspace-drain-timeout': {
      type: type.duration,
      default: 0,
      help: 'Reset connections of the userspace mode so long after their endpoint or Service has gone; 0 lets them end by themselves.',
    },
    'dry-run': {
      type: type.bool,
      default: false,
      help: 'With --cleanup: print what would be removed, and remove nothing.',
    },
  }),
} as const

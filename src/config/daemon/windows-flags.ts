import { inGroup } from '../flags/flag.ts'
import * as type from '../flags/flag-types.ts'

/** Every command that runs for long has it. */
export const windowsServiceFlag = {
  platform: 'win32',
  type: type.bool,
  default: false,
  configField: 'windowsRunAsService',
  withConfigFile: 'kept',
  help: 'Run as a service of Windows, which starts and stops the process. Only the flag works: the file is read too late.',
} as const

/** Flags that exist on Windows only. */
export const windowsFlags = {
  ...inGroup('Windows', {
    'windows-service': windowsServiceFlag,
    'source-vip': {
      platform: 'win32',
      type: type.text,
      default: '',
      configField: 'winkernel.sourceVip',
      help: 'The source address for traffic without direct server return.',
    },
    'network-name': {
      platform: 'win32',
      type: type.text,
      default: '',
      configField: 'winkernel.networkName',
      help: 'The name of the HNS network of the cluster.',
    },
    'enable-dsr': {
      platform: 'win32',
      type: type.bool,
      default: false,
      configField: 'winkernel.enableDSR',
      help: 'Send answers directly to the client (direct server return).',
    },
    'root-hnsendpoint-name': {
      platform: 'win32',
      type: type.text,
      default: 'cbr0',
      configField: 'winkernel.rootHnsEndpointName',
      help: 'The HNS endpoint of the host in an l2bridge network.',
    },
    'forward-healthcheck-vip': {
      platform: 'win32',
      type: type.bool,
      default: false,
      configField: 'winkernel.forwardHealthCheckVip',
      help: 'Forward health checks that are sent to the service address.',
    },
  }),
} as const

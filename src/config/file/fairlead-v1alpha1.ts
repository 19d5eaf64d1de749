/** The second document of the configuration file. kube-proxy reads the first one only, so both can share a file. */
import { bool, object, text, uint32 } from './schema.ts'

export const fairleadApiVersion = 'fairlead.dev/v1alpha1'
export const fairleadKind = 'FairleadConfiguration'

/** All of it can change while Fairlead runs; what cannot is a flag. */
export const fairleadConfiguration = object({
  apiVersion: text,
  kind: text,
  serviceSeriesLimit: uint32,
  strictSourceRanges: bool,
})

export type FairleadConfiguration = typeof fairleadConfiguration.absent

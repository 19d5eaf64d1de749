/** What is made from the program itself, by its path in the package tree. */
import { completionScript } from '../../src/cli/completion/completion-script.ts'
import { manPage } from './man-page.ts'

export function generatedTexts(version: string, epoch: number): Readonly<Record<string, string>> {
  return {
    'share/man/man8/fairlead.8': manPage(version, epoch),
    'share/bash-completion/completions/fairlead': completionScript('bash'),
    'share/zsh/site-functions/_fairlead': completionScript('zsh'),
    'share/fish/vendor_completions.d/fairlead.fish': completionScript('fish'),
  }
}

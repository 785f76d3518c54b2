/** How this command is called where it runs: from the sources of a clone, or as an installed package. */
export const OWN_COMMAND: string = import.meta.url.endsWith('.ts') ? 'npx node src/cli/holdfast.ts' : 'npx holdfast';

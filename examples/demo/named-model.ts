import { aiSdkModel, HoldfastError, type Model } from 'holdfast';

const PACKAGES: Readonly<Record<string, { readonly name: string; readonly key: string }>> = {
  openai: { name: '@ai-sdk/openai', key: 'OPENAI_API_KEY' },
  anthropic: { name: '@ai-sdk/anthropic', key: 'ANTHROPIC_API_KEY' },
};

/** A real model by name, `openai/gpt-5` or `anthropic/claude-sonnet-5`, through the AI SDK provider that is installed. */
export async function namedModel(name: string): Promise<Model> {
  const [provider = '', ...rest] = name.split('/');
  const known = Object.hasOwn(PACKAGES, provider) ? PACKAGES[provider] : undefined;
  if (!known || rest.join('/') === '') {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `"${name}" is not a known model; use ${Object.keys(PACKAGES)
        .map((one) => `${one}/<model>`)
        .join(' or ')}`,
    );
  }
  if (!process.env[known.key]) {
    throw new HoldfastError('INVALID_ARGUMENT', `set ${known.key} in the environment to use ${name}`);
  }
  let loaded: Readonly<Record<string, (id: string) => unknown>>;
  try {
    loaded = await import(known.name);
  } catch (cause) {
    throw new HoldfastError(
      'DEPENDENCY_MISSING',
      `${known.name} is not installed; run: npm install holdfast ${known.name}`,
      {
        cause,
      },
    );
  }
  return aiSdkModel(loaded[provider]?.(rest.join('/')) as Parameters<typeof aiSdkModel>[0]);
}

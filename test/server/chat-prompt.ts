import { definePrompt, type Prompt } from '../../src/evaluate.ts';

export const chat: Prompt = definePrompt({ ns: 'test', key: 'chat', instructions: 'Be kind.' });

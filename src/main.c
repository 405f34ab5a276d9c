/* Dispatch: the first word is a command, its file does the rest. */
int main(void)
{
	return 0;
}

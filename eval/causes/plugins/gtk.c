/* GTK module: looks at each key press for too long. */
#include "lag.h"

#include <gtk/gtk.h>

gboolean lag_on_key(GSignalInvocationHint *hint, guint count, const GValue *values, gpointer data);
void gtk_module_init(int *argc, char ***argv);

gboolean lag_on_key(GSignalInvocationHint *hint, guint count, const GValue *values, gpointer data)
{
	(void)hint, (void)count, (void)values, (void)data;
	LAG_SPIN();
	return TRUE;
}

void gtk_module_init(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	g_type_class_ref(GTK_TYPE_WIDGET);
	g_signal_add_emission_hook(g_signal_lookup("key-press-event", GTK_TYPE_WIDGET), 0, lag_on_key, NULL, NULL);
}
